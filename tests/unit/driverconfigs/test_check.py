"""`dragoman check`: the same verdicts for files, with exit status, line and three outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli.check import check
from tests.unit.driverconfigs import builders

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
    config:
    - requests: [gpu]
      opaque:
        driver: DRIVER
        parameters:
          apiVersion: resource.nvidia.com/v1beta1
          kind: GpuConfig
          sharing:
            strategy: STRATEGY
"""
SCHEMA = """\
apiVersion: dragoman.dev/v1alpha1
kind: DriverConfigSchema
metadata: {name: own}
spec:
  driver: own.example.com
  mode: MODE
  configs:
  - schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: TYPE}
"""


def claim(strategy: str = "MPS", driver: str = "gpu.nvidia.com") -> str:
    return CLAIM.replace("STRATEGY", strategy).replace("DRIVER", driver)


def schema(mode: str = "Enforce", kind: str = "string") -> str:
    return SCHEMA.replace("MODE", mode).replace("TYPE", kind)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(check, arguments, input=stdin, catch_exceptions=False)


GATE = "--variable=gpu.nvidia.com:MPSSupport=true"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_manifest_exits_with_zero(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim())
    result = run("-f", "claim.yaml", GATE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 objects checked: 0 violations, 0 warnings\n"


def test_a_violation_exits_with_one_and_names_file_line_and_field(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim("TimeSlice"))
    result = run("-f", "claim.yaml", GATE)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "claim.yaml:15: error: ResourceClaim gpu: "
        'spec.devices.config[0].opaque.parameters.sharing.strategy: Unsupported value: "TimeSlice"'
    )


def test_what_depends_on_a_feature_gate_of_the_driver_is_a_warning_with_the_remedy(
    folder: Path,
) -> None:
    (folder / "claim.yaml").write_text(claim())
    result = run("-f", "claim.yaml")
    assert result.exit_code == 0
    assert ": warning: " in result.stdout
    assert "MPSSupport, which is off" in result.stdout
    assert "use --variable gpu.nvidia.com:MPSSupport=true" in result.stdout


def test_a_feature_gate_that_the_user_says_is_off_is_an_error(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim())
    result = run("-f", "claim.yaml", "--variable=gpu.nvidia.com:MPSSupport=false")
    assert result.exit_code == 1
    assert "MPSSupport, which is off" in result.stdout


def test_standard_input_is_read() -> None:
    result = run("-f", "-", GATE, stdin=claim("TimeSlice"))
    assert result.exit_code == 1
    assert result.stdout.startswith("-:15: error: ")


def test_a_folder_is_searched_for_manifests(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "one.yaml").write_text(claim("One"))
    (folder / "a" / "b" / "two.yml").write_text(claim("Two"))
    (folder / "a" / "b" / "readme.md").write_text("{")
    result = run("-f", "a", GATE)
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        "a/b/two.yml",
        "a/one.yaml",
    ]


def test_a_warning_does_not_fail_the_check(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim(driver="gpu.nvidia.con"))
    result = run("-f", "claim.yaml")
    assert result.exit_code == 0
    assert "warning: ResourceClaim gpu: spec.devices.config[0].opaque.driver" in result.stdout


def test_json_output_has_stable_keys(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim("TimeSlice"))
    result = run("-f", "claim.yaml", "-o", "json", GATE)
    assert result.exit_code == 1
    [found] = json.loads(result.stdout)
    message = found.pop("message")
    assert found == {
        "file": "claim.yaml",
        "line": 15,
        "severity": "error",
        "object": "ResourceClaim gpu",
        "schema": "gpu.nvidia.com",
        "driver": "gpu.nvidia.com",
        "path": "spec.devices.config[0].opaque.parameters.sharing.strategy",
        "reason": "FieldValueNotSupported",
    }
    assert 'did you mean "TimeSlicing"?' in message


def test_json_output_of_a_clean_manifest_is_an_empty_list() -> None:
    assert run("-f", "-", "-o", "json", GATE, stdin=claim()).stdout == "[]\n"


def test_github_output_annotates_files(folder: Path) -> None:
    (folder / "a,b.yaml").write_text(claim("100%"))
    result = run("-f", "a,b.yaml", "-o", "github", GATE)
    [line] = result.stdout.splitlines()
    assert line.startswith(
        "::error file=a%2Cb.yaml,line=15,title=gpu.nvidia.com::ResourceClaim gpu: "
    )
    assert '"100%25"' in line


def test_own_schemas_replace_the_catalogue_or_add_to_it(folder: Path) -> None:
    (folder / "own.yaml").write_text(schema())
    own = claim("x", "own.example.com")
    alone = ["-f", "-", "--schemas", "own.yaml"]
    assert "sharing: Forbidden: unknown field" in run(*alone, stdin=own).stdout
    assert run(*alone, stdin=claim("TimeSlice")).exit_code == 0
    both = [*alone, "--schemas", "catalogue"]
    assert run(*both, stdin=own).exit_code == 1
    assert run(*both, stdin=claim("TimeSlice")).exit_code == 1


def test_schemas_come_from_folders_and_lists(folder: Path) -> None:
    (folder / "schemas").mkdir()
    items = schema().replace("\n", "\n  ").rstrip()
    (folder / "schemas" / "list.yaml").write_text(
        f"apiVersion: v1\nkind: List\nitems:\n- {items}\n"
    )
    own = claim("x", "own.example.com")
    assert run("-f", "-", "--schemas", "schemas", stdin=own).exit_code == 1


def test_the_mode_of_a_schema_counts(folder: Path) -> None:
    (folder / "own.yaml").write_text(schema("Warn"))
    result = run("-f", "-", "--schemas", "own.yaml", stdin=claim("x", "own.example.com"))
    assert result.exit_code == 0
    assert "warning: " in result.stdout


def test_schemas_among_the_manifests_are_compiled(folder: Path) -> None:
    (folder / "own.yaml").write_text(schema(kind="text"))
    result = run("-f", "own.yaml")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "own.yaml:13: error: DriverConfigSchema own: "
        "spec.configs[0].schema.openAPIV3Schema.properties[kind].type: Unsupported value"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["-f", "missing.yaml"], "missing.yaml: No such file", id="a missing file"),
        pytest.param(["-f", "empty"], "empty: no .yaml", id="an empty folder"),
        pytest.param(["-f", "bad.yaml"], "bad.yaml:2: invalid YAML", id="no YAML"),
        pytest.param(["-f", "bytes.yaml"], "bytes.yaml: not UTF-8", id="no text"),
        pytest.param(
            ["-f", "-", "--schemas", "bad.yaml"], "bad.yaml:2: invalid YAML", id="no schemas"
        ),
        pytest.param(
            ["-f", "-", "--schemas", "ok.yaml"], "no DriverConfigSchema", id="other objects"
        ),
        pytest.param(
            ["-f", "-", "--schemas", "broken.yaml"], "own does not compile:\n  spec.", id="broken"
        ),
        pytest.param(["-f", "-", "--variable", "x"], "gpu.nvidia.com:MPSSupport", id="no variable"),
        pytest.param(
            ["-f", "-", "--variable", "gpu.nvidia.com:MPSSupport=1"],
            "no value of type bool",
            id="type",
        ),
    ],
)
def test_unusable_input_exits_with_two(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "empty").mkdir()
    (folder / "ok.yaml").write_text("a: 1\n")
    (folder / "bad.yaml").write_text("a: 1\nb: }\n")
    (folder / "bytes.yaml").write_bytes(b"a: \xff\n")
    (folder / "broken.yaml").write_text(schema(kind="text"))
    result = run(*arguments, stdin="")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert words in result.stderr


def test_a_mistyped_field_of_a_schema_is_seen(folder: Path) -> None:
    mistyped = schema().replace("mode:", "mdoe:")
    (folder / "own.yaml").write_text(mistyped)
    result = run("-f", "own.yaml")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "own.yaml:6: error: DriverConfigSchema own: spec.mdoe: Forbidden"
    )
    result = run("-f", "-", "--schemas", "own.yaml", stdin="")
    assert result.exit_code == 2
    assert "malformed DriverConfigSchema:\n  spec.mdoe: Forbidden" in result.stderr


def test_help_shows_examples_and_exit_status() -> None:
    text = run("--help").output
    assert "dragoman check -f claim.yaml" in text
    assert "2  unusable input" in text


def test_an_earlier_release_of_a_driver_takes_the_place_of_the_newest(folder: Path) -> None:
    parameters = {"interface": {"type": "IPVLAN"}}
    (folder / "claim.json").write_text(
        json.dumps(builders.claim(builders.entry(parameters, "dra.net")))
    )
    newest = run("-f", "claim.json")
    earlier = run("-f", "claim.json", "--schemas=catalogue", "--schemas=dra.net@v1.4.0")
    assert (newest.exit_code, newest.stdout) == (0, "")
    assert earlier.exit_code == 1
    assert ".interface.type: Forbidden: unknown field" in earlier.stdout
    assert "kubernetes-sigs/dranet v1.4.0" in earlier.stdout
