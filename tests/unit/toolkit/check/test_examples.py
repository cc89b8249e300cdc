"""Each example gets the verdict that it names."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman_toolkit.check.check import check

EXAMPLES = Path(__file__).parents[4] / "examples" / "configs"
GATES = [f"--variable=gpu.nvidia.com:{gate}=true" for gate in ("MPSSupport", "TimeSlicingSettings")]
PARAMETERS = "spec.devices.config[0].opaque.parameters"
MISTYPED = f"ResourceClaim shared-by-mps: {PARAMETERS}.sharing"


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        pytest.param("sharing.yaml", GATES, [], id="right configs"),
        pytest.param("corrected.yaml", GATES, [], id="a corrected claim"),
        pytest.param(
            "corrected.yaml",
            [],
            [f"20:13: warning: {MISTYPED}.strategy: Forbidden: MPS needs"],
            id="a corrected claim without its feature gate",
        ),
        pytest.param("mps-support.yaml", [], [], id="a feature gate"),
        pytest.param("own-driver.yaml", [], [], id="a schema"),
        pytest.param(
            "mistyped.yaml",
            [],
            [
                f"20:13: error: {MISTYPED}.strategy: Unsupported",
                f"22:15: error: {MISTYPED}.mpsConfig.",
            ],
            id="a mistyped claim",
        ),
        pytest.param(
            "bad-class.yaml",
            [],
            ["16:9: error: DeviceClass nvme-passthrough: spec.config[0].opaque.parameters.mode:"],
            id="a bad class",
        ),
        pytest.param(
            "bad-template.yaml",
            [],
            [f"17:11: error: ResourceClaimTemplate channel: spec.{PARAMETERS}.domainID: Required"],
            id="a bad template",
        ),
        pytest.param(
            "own-driver-claims.yaml",
            ["--schemas", str(EXAMPLES / "own-driver.yaml")],
            [
                f"37:11: warning: ResourceClaim gate-is-off: {PARAMETERS}.partitions: Forbidden: ",
                (
                    "50:7: error: ResourceClaim for-admins-only: spec.devices.config[0]: "
                    "Forbidden: gpu.acme.example.com/v1 GPUInit is not supported in ResourceClaims"
                ),
            ],
            id="claims for an own driver",
        ),
    ],
)
def test_an_example_gets_the_verdict_that_it_names(
    file: str, options: list[str], expected: list[str]
) -> None:
    result = CliRunner().invoke(check, ["-f", str(EXAMPLES / file), *options])
    lines = result.stdout.splitlines()
    assert len(lines) == len(expected)
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(f"{EXAMPLES / file}:{beginning}")
    assert result.exit_code == int(any(": error: " in line for line in lines))


def test_the_readme_names_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in EXAMPLES.glob("*.yaml") if f"[{path.name}]" not in text] == []
