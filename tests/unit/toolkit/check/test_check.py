"""`dragoman check`: exit status, files, outputs and the webhook's verdicts."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner, Result

from dragoman_toolkit.check.check import check
from tests.support.worlds import driverconfigs as builders

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


def test_objects_of_one_driver_may_have_different_kinds(folder: Path) -> None:
    wrong = claim("MSP")
    kinds = ("GpuConfig", "MigDeviceConfig", "GpuConfg")
    (folder / "claims.yaml").write_text("---\n".join(wrong.replace("GpuConfig", k) for k in kinds))
    said = run("claims.yaml", GATE).stdout
    assert said.count('sharing.strategy: Unsupported value: "MSP"') == 2
    assert 'supported values: "GpuConfig", "MigDeviceConfig", "VfioDeviceConfig"' in said


def test_a_clean_manifest_exits_with_zero(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim())
    result = run("-f", "claim.yaml", GATE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "checked 1 object, 1 config; 0 errors, 0 warnings\n"


def test_a_violation_exits_with_one_and_names_file_line_and_field(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim("TimeSlice"))
    result = run("-f", "claim.yaml", GATE)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "claim.yaml:15:13: error: ResourceClaim gpu: "
        'spec.devices.config[0].opaque.parameters.sharing.strategy: Unsupported value: "TimeSlice"'
    )


def test_a_feature_gate_that_is_not_given_makes_a_warning_with_the_remedy(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim())
    result = run("-f", "claim.yaml")
    assert result.exit_code == 0
    assert "MPSSupport, which is off" in result.stdout
    assert "--variable gpu.nvidia.com:MPSSupport=true" in result.stdout
    given = run("-f", "claim.yaml", "--variable", "gpu.nvidia.com:MPSSupport=false")
    assert given.exit_code == 1


def test_standard_input_is_read() -> None:
    result = run("-f", "-", GATE, stdin=claim("TimeSlice"))
    assert result.exit_code == 1
    assert result.stdout.startswith("-:15:13: error: ")


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
    document = json.loads(result.stdout)
    [found] = document["findings"]
    message = found.pop("message")
    assert found == {
        "id": "dra/driver-config",
        "severity": "error",
        "file": "claim.yaml",
        "line": 15,
        "column": 13,
        "path": "spec.devices.config[0].opaque.parameters.sharing.strategy",
        "object": "ResourceClaim gpu",
        "suggestion": "",
        "fixable": "--unsafe-fixes",
        "url": "https://dragoman.dev/check#dradriver-config",
    }
    assert 'did you mean "TimeSlicing"?' in message
    assert document["summary"] == {
        "objects": 1,
        "configs": 1,
        "errors": 1,
        "warnings": 0,
        "ignored": 0,
        "fixable": {"safe": 0, "unsafe": 1},
        "leftAlone": 0,
        "leftAloneBy": {},
        "skipped": {},
    }


def test_json_output_of_a_clean_manifest_has_no_findings() -> None:
    document = json.loads(run("-f", "-", "-o", "json", GATE, stdin=claim()).stdout)
    assert (document["findings"], document["failures"]) == ([], [])


def test_github_output_annotates_files(folder: Path) -> None:
    (folder / "a,b.yaml").write_text(claim("100%"))
    result = run("-f", "a,b.yaml", "-o", "github", GATE)
    [line] = result.stdout.splitlines()
    assert line.startswith(
        "::error file=a%2Cb.yaml,line=15,col=13,title=dra/driver-config::ResourceClaim gpu: "
    )
    assert '"100%25"' in line


def test_own_schemas_replace_the_catalog_or_add_to_it(folder: Path) -> None:
    (folder / "own.yaml").write_text(schema())
    own = claim("x", "own.example.com")
    alone = ["-f", "-", "--schemas", "own.yaml"]
    assert "sharing: Forbidden: unknown field" in run(*alone, stdin=own).stdout
    assert run(*alone, stdin=claim("TimeSlice")).exit_code == 0
    for catalog in ("catalog", "catalogue"):  # the second is the former spelling
        both = [*alone, "--schemas", catalog]
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


@pytest.mark.parametrize(
    ("given", "faulty"),
    [
        ("count: 1", False),
        ("count: 1.0", True),
        ("count: 1e1", True),
        ("count: 1\n          count: 1", True),
        ("count: null", False),
    ],
    ids=["an integer", "a fraction", "an exponent", "a repeated key", "null"],
)
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_strict_decoders_look_at_is_seen(
    folder: Path, given: str, faulty: bool, form: str
) -> None:
    """Drivers decode JSON strictly, so `1.0` is no integer, and one key may occur once."""
    own = schema().replace("{type: TYPE}", "{type: string}")
    (folder / "own.yaml").write_text(f"{own}          count: {{type: integer, nullable: true}}\n")
    written = claim("x", "own.example.com").replace(
        "          sharing:\n            strategy: x\n", f"          {given}\n"
    )
    if form == "json":
        members = ", ".join(
            '"count": ' + line.partition(": ")[2] for line in given.splitlines() if line.strip()
        )
        tree = yaml.safe_load(written)
        tree["spec"]["devices"]["config"][0]["opaque"]["parameters"]["count"] = "HERE"
        written = json.dumps(tree, indent=1).replace('"count": "HERE"', members)
    result = run("-f", "-", "--schemas", "own.yaml", stdin=written)
    assert (result.exit_code == 1) is faulty, result.stdout
    assert ("parameters.count" in result.stdout) is faulty


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
        "own.yaml:13:18: error: DriverConfigSchema own: "
        "spec.configs[0].schema.openAPIV3Schema.properties[kind].type: Unsupported value"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["missing.yaml"], "missing.yaml: error: No such file", id="a missing file"),
        pytest.param(["missing.yaml"], "0 errors, 0 warnings, 1 file failed", id="the last line"),
        pytest.param(["empty"], "empty: error: no .yaml", id="an empty folder"),
        pytest.param(["no-*.yaml"], "no-*.yaml: error: the pattern matches no file", id="pattern"),
        pytest.param(["bad.yaml"], "bad.yaml:2:4: error: invalid YAML", id="no YAML"),
        pytest.param(["bad.json"], "bad.json:1:7: error: invalid JSON", id="no JSON"),
        pytest.param(["bytes.yaml"], "bytes.yaml:2:4: error: not UTF-8", id="no text"),
        pytest.param(["-"], "Error: no object in the input", id="nothing"),
        pytest.param([], "Error: name files or folders", id="no argument"),
        pytest.param(["-", "--fix"], "Error: --fix changes files in place", id="standard input"),
        pytest.param(["https://example.com/a.yaml"], "URLs are not read; download", id="a URL"),
        pytest.param(
            ["-", "--schemas", "bad.yaml"], "Error: bad.yaml:2:4: invalid YAML", id="no schemas"
        ),
        pytest.param(["-", "--schemas", "ok.yaml"], "no DriverConfigSchema", id="other objects"),
        pytest.param(
            ["-", "--schemas", "broken.yaml"], "own does not compile:\n  spec.", id="broken"
        ),
        pytest.param(["-", "--variable", "x"], "gpu.nvidia.com:MPSSupport", id="no variable"),
        pytest.param(
            ["-", "--variable", "gpu.nvidia.com:MPSSupport=1"],
            "--variable gpu.nvidia.com:MPSSupport: 1 is no value of type bool",
            id="type",
        ),
        pytest.param(["-", "--rules", "dra/invald=off"], 'did you mean "dra/invalid"?', id="rule"),
        pytest.param(["-", "--rules", "dra/invalid=no"], "one of error, warning, off", id="value"),
        pytest.param(
            ["-", "--kubernetes", "new"],
            "--kubernetes: invalid Kubernetes version 'new'",
            id="version",
        ),
        pytest.param(["-", "--slices", "ok.yaml"], "no ResourceSlice in it", id="slices"),
        pytest.param(["-", "--config", "ok.yaml"], "unknown field a", id="settings"),
    ],
)
def test_unusable_input_exits_with_two(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "empty").mkdir()
    (folder / "ok.yaml").write_text("a: 1\n")
    (folder / "bad.yaml").write_text("a: 1\nb: }\n")
    (folder / "bad.json").write_text('{"a": ]\n')
    (folder / "bytes.yaml").write_bytes(b"b: 1\na: \xff\n")
    (folder / "broken.yaml").write_text(schema(kind="text"))
    result = run(*arguments, stdin="")
    assert result.exit_code == 2
    assert words in result.output


def test_an_unreadable_file_does_not_stop_the_check(folder: Path) -> None:
    (folder / "a.yaml").write_text("a: }\n")
    (folder / "b.yaml").write_text(claim("TimeSlice"))
    result = run("a.yaml", "b.yaml", GATE)
    assert result.exit_code == 2
    assert "b.yaml:15:13: error: ResourceClaim gpu" in result.stdout
    assert "a.yaml:1:4: error: invalid YAML" in result.stdout


def test_patterns_and_exclusions(folder: Path) -> None:
    for name in ("a/one.yaml", "a/b/two.yaml", "vendor/three.yaml", "four.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(claim("Bad"))
    found = run("**/*.yaml", "--exclude", "vendor", "--exclude", "tw?.yaml", GATE)
    assert [line.split(":")[0] for line in found.stdout.splitlines()] == ["a/one.yaml"]
    assert run(".", "a", "a/one.yaml", GATE).stderr.startswith("checked 3 objects, 3 configs;")


def test_unrendered_templates_of_helm_are_skipped_with_a_hint(folder: Path) -> None:
    (folder / "template.yaml").write_text("{{- if .Values.on }}\na: {{ .Values.a }}\n{{- end }}\n")
    result = run("template.yaml")
    assert result.exit_code == 0
    assert "skipped 1: unrendered Helm template, run `helm template` first (1)" in result.stderr
    assert run("template.yaml", "--strict").exit_code == 1


def test_a_driver_without_a_schema_is_skipped_and_counted(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim(driver="unknown.example.com"))
    result = run("claim.yaml")
    assert result.exit_code == 0
    assert "skipped 1: no schema for driver unknown.example.com (1)" in result.stderr
    assert run("claim.yaml", "--strict").exit_code == 1


def test_strict_makes_warnings_count() -> None:
    old = claim().replace("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
    served = "--runtime-config=resource.k8s.io/v1beta2"
    assert run("-", GATE, served, stdin=old).exit_code == 0
    assert run("-", GATE, served, "--strict", stdin=old).exit_code == 1
    assert run("-", GATE, stdin=old).exit_code == 1


def test_severities_come_from_the_settings_file_and_the_command_line(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim().replace("io/v1\n", "io/v1beta2\n"))
    (folder / ".dragoman.yaml").write_text(
        "rules: {dra/api-old: error}\nvariables: ['gpu.nvidia.com:MPSSupport=true']\n"
    )
    assert run("claim.yaml").exit_code == 1
    (folder / "below").mkdir()
    assert run("claim.yaml", "--rules", "dra/api-old=off").stdout == ""


def test_fix_mends_files_and_diff_only_shows_it(folder: Path) -> None:
    path = folder / "claim.yaml"
    text = claim().replace("io/v1\n", "io/v1beta2  # old\n")
    path.write_text(text)
    result = run("claim.yaml", "--diff")
    assert result.exit_code == 1
    assert "-apiVersion: resource.k8s.io/v1beta2  # old\n+apiVersion:" in result.stdout
    assert path.read_text() == text
    assert run("claim.yaml", "--fix", GATE).stdout == ""
    assert path.read_text() == text.replace("v1beta2", "v1")


def test_slices_decide_what_selectors_match(folder: Path) -> None:
    (folder / "slices.yaml").write_text(SLICE)
    selector = CLASS.replace("MODEL", "B")
    result = run("-", "--slices", "slices.yaml", stdin=selector)
    assert "false for each of the 1 given devices [dra/never-matches]" in result.stdout
    assert run("-", "--slices", "slices.yaml", stdin=CLASS.replace("MODEL", "A")).stdout == ""


CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors:
  - cel:
      expression: |-
        device.driver == "own.example.com" &&
        device.attributes["own.example.com"].model == "MODEL"
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node}
spec:
  driver: own.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices:
  - name: d0
    attributes: {model: {string: A}}
"""


def test_sarif_names_rule_and_place(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim("TimeSlice"))
    (folder / "bad.yaml").write_text("a: }\n")
    document = json.loads(run("claim.yaml", "bad.yaml", "-o", "sarif", GATE).stdout)
    [sarif] = document["runs"]
    [result] = sarif["results"]
    assert result["ruleId"] == "dra/driver-config"
    assert sarif["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "claim.yaml"
    assert place["region"] == {"startLine": 15, "startColumn": 13}
    assert not sarif["invocations"][0]["executionSuccessful"]


def test_junit_counts_findings_and_unreadable_files(folder: Path) -> None:
    (folder / "claim.yaml").write_text(claim("TimeSlice\\x00"))
    (folder / "bad.yaml").write_text("a: }\n")
    suite = ET.fromstring(run("claim.yaml", "bad.yaml", "-o", "junit", GATE).stdout)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")
    clean = ET.fromstring(run("-", "-o", "junit", GATE, stdin=claim()).stdout)
    assert (clean.get("tests"), clean.get("failures")) == ("1", "0")


def test_junit_and_tap_name_the_files_that_pass(folder: Path) -> None:
    (folder / "good.yaml").write_text(claim())
    (folder / "wrong.yaml").write_text(claim("TimeSlice"))
    (folder / "unread.yaml").write_text("apiVersion: }\n")
    suite = ET.fromstring(run(".", "-o", "junit", GATE).stdout)
    assert [one.get("name") for one in suite if not len(one)] == ["good.yaml"]
    lines = run(".", "-o", "tap", GATE).stdout.splitlines()
    assert lines[:3] == ["TAP version 13", "1..3", "ok 1 - good.yaml"]
    assert {"not ok 2 - wrong.yaml", "not ok 3 - unread.yaml"} <= set(lines)
    detail = next(one for one in lines if one.startswith("  findings: "))
    [found] = json.loads(detail.removeprefix("  findings: "))
    assert (found["line"], found["url"]) == (15, "https://dragoman.dev/check#dradriver-config")


def test_rules_are_listed_with_their_pages() -> None:
    lines = run("--list-rules").stdout.splitlines()
    assert lines[0].split()[:2] == ["dra/api-removed", "error"]
    assert lines[1].strip() == "https://dragoman.dev/check#draapi-removed"
    listed = json.loads(run("--list-rules", "-o", "json").stdout)
    assert [one["id"] for one in listed] == [one.split()[0] for one in lines[::2]]


def test_objects_of_other_kinds_are_counted(folder: Path) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
    (folder / "m.yaml").write_text(other * 2 + claim())
    result = run("m.yaml", GATE)
    assert result.stderr.startswith("checked 1 object, 1 config, left 2 of other kinds alone; ")
    assert result.exit_code == 0


@pytest.mark.parametrize("version", ["1.30", "1.99", "v2.0"])
def test_an_unknown_version_names_those_that_are_known(version: str) -> None:
    result = run("-", "--kubernetes", version, stdin=claim())
    assert result.exit_code == 2
    assert f"Kubernetes {version} is not known; known: 1.34, 1.35, " in result.stderr


def test_a_mistyped_field_of_a_schema_is_seen(folder: Path) -> None:
    mistyped = schema().replace("mode:", "mdoe:")
    (folder / "own.yaml").write_text(mistyped)
    result = run("-f", "own.yaml")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "own.yaml:6:3: error: DriverConfigSchema own: spec.mdoe: Forbidden"
    )
    result = run("-f", "-", "--schemas", "own.yaml", stdin="")
    assert result.exit_code == 2
    assert "malformed DriverConfigSchema:\n  spec.mdoe: Forbidden" in result.stderr


def test_help_shows_examples_and_exit_status() -> None:
    text = run("--help").output
    assert "dragoman check manifests/ claim.yaml" in text
    assert "2  unusable input" in text


def test_an_earlier_release_of_a_driver_takes_the_place_of_the_newest(folder: Path) -> None:
    parameters = {"interface": {"type": "IPVLAN"}}
    (folder / "claim.json").write_text(
        json.dumps(builders.claim(builders.entry(parameters, "dra.net")))
    )
    newest = run("-f", "claim.json")
    earlier = run("-f", "claim.json", "--schemas=catalog", "--schemas=dra.net@v1.4.0")
    assert (newest.exit_code, newest.stdout) == (0, "")
    assert earlier.exit_code == 1
    assert ".interface.type: Forbidden: unknown field" in earlier.stdout
    assert "kubernetes-sigs/dranet v1.4.0" in earlier.stdout
