"""`--fix`: a file says what it said before but for the findings, or it stays as it is."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman_toolkit.check.check import check

pytestmark = pytest.mark.hostile("fix")

OLD = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: gpu}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.example.com
"""
NEW = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return tmp_path


def fix(*arguments: str) -> Result:
    return CliRunner().invoke(check, [*arguments, "--fix"], catch_exceptions=False)


def request(body: str) -> str:
    return f"{OLD.partition('    - name')[0]}{body}".replace("v1beta1", "v1")


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: main
    image: pause
    resources: {claims: [{name: gpu}]}   # [{name: gpu}]
  resourceClaims:
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(OLD, NEW, id="a claim"),
        pytest.param(OLD.rstrip("\n"), NEW.rstrip("\n"), id="no line break at the end"),
        pytest.param(OLD.replace("\n", "\r\n"), NEW.replace("\n", "\r\n"), id="CRLF"),
        pytest.param("\ufeff" + OLD, "\ufeff" + NEW, id="a byte order mark"),
        pytest.param(OLD.replace("gpu}", "gpu}\t# tab"), NEW.replace("gpu}", "gpu}\t# tab"),
                     id="a tab before a comment"),
        pytest.param(
            request("    - deviceClassName: a.example.com # why\n      # two of them\n"
                    "      name: gpu\n      count: 2\n      # the end\n"),
            request("    - exactly:\n        deviceClassName: a.example.com # why\n"
                    "        count: 2\n      # two of them\n      name: gpu\n      # the end\n"),
            id="fields apart, the first behind the dash",
        ),
        pytest.param(
            request("    - {deviceClassName: a.example, name: gpu,   count: 2}  # one\n"),
            request("    - {exactly: {deviceClassName: a.example, count: 2}, name: gpu}  # one\n"),
            id="fields apart in flow style",
        ),
        pytest.param(
            request("    - {name: 'gpu',   deviceClassName: a.b,count:  2 }  # one\n"),
            request("    - {name: 'gpu',   exactly: {deviceClassName: a.b,count:  2} }  # one\n"),
            id="flow style",
        ),
        pytest.param(
            request("    - name: gpu\n      deviceClassName: a.example.com\n      selectors:\n"
                    '      - cel:\n          expression: |-\n            device.driver == "a" &&\n'
                    "              true\n\n      # last\n      count: 1\n    - name: b\n"
                    "      exactly: {deviceClassName: c}\n"),
            request("    - name: gpu\n      exactly:\n        deviceClassName: a.example.com\n"
                    "        selectors:\n        - cel:\n            expression: |-\n"
                    '              device.driver == "a" &&\n                true\n\n'
                    "        # last\n        count: 1\n    - name: b\n"
                    "      exactly: {deviceClassName: c}\n"),
            id="a literal block",
        ),
        pytest.param(
            POD + "  - name: gpu\n    source:\n        # which\n        resourceClaimName: b # c\n",
            POD + "  - name: gpu\n    # which\n    resourceClaimName: b # c\n",
            id="source, and a line in flow style beside it",
        ),
        pytest.param(
            POD + "  - source: {resourceClaimName: b}  # c\n    name: gpu\n",
            POD + "  - resourceClaimName: b  # c\n    name: gpu\n",
            id="source in flow style",
        ),
        pytest.param(
            POD + "  - {name: gpu, source: { resourceClaimName: b }}\n",
            POD + "  - {name: gpu, resourceClaimName: b}\n",
            id="source in flow style twice",
        ),
    ],
)  # fmt: skip
def test_nothing_else_changes(folder: Path, before: str, after: str) -> None:
    (folder / "m.yaml").write_bytes(before.encode())
    fix("m.yaml")
    assert (folder / "m.yaml").read_bytes().decode() == after
    assert sorted(one.name for one in folder.iterdir()) == ["in", "m.yaml"]


JSON = """\
{"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim",
\t"metadata": {"name":"gpu"},
\t"spec": {"devices": {"requests": [
\t\t{
\t\t\t"name": "gpu",
\t\t\t"deviceClassName": "a.example.com"
\t\t}], "config": [{"opaque": {"driver": "a.example.com",
\t\t\t"parameters": {"number": 1e2, "text": "\\u00e9\\ud83d\\ude00"}}}]
}}}"""


def test_json_is_changed_in_place(folder: Path) -> None:
    (folder / "m.json").write_text(JSON)
    fix("m.json")
    assert (folder / "m.json").read_text() == JSON.replace("v1beta1", "v1").replace(
        '\t\t\t"deviceClassName": "a.example.com"',
        '\t\t\t"exactly": {\n\t\t\t\t"deviceClassName": "a.example.com"\n\t\t\t}',
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        pytest.param("m.json", JSON.replace('"number"', '"text"'), "the key text occurs twice",
                     id="a repeated key in JSON"),
        pytest.param("m.yaml", OLD + "spec: {}\n", "the key spec occurs twice", id="in YAML"),
        pytest.param(
            "m.yaml",
            request("    - &a {name: a, deviceClassName: c}\n    - <<: *a\n      name: b\n"),
            "merge key", id="a merge key holds the fields",
        ),
        pytest.param(
            "m.yaml", "x: &v resource.k8s.io/v1beta1\n" + OLD.replace(
                "apiVersion: resource.k8s.io/v1beta1", "apiVersion: *v"),
            "would make it unreadable", id="an alias",
        ),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_changed_in_place_stay(
    folder: Path, name: str, text: str, words: str
) -> None:
    (folder / name).write_text(text)
    (folder / "other.yaml").write_text(OLD)
    result = fix(name, "other.yaml")
    assert result.exit_code == 2
    assert f"{name}:1:1: error: not fixed: " in result.stdout
    assert words in result.stdout
    assert (folder / name).read_text() == text
    assert (folder / "other.yaml").read_text() == NEW


def test_what_was_changed_is_said(folder: Path) -> None:
    (folder / "m.yaml").write_text(OLD)
    result = fix("m.yaml", "-o", "json")
    assert [one["id"] for one in json.loads(result.stdout)["fixed"]] == ["dra/api-old"]
    (folder / "m.yaml").write_text(OLD + "---\n" + OLD.replace("name: gpu}", "name: other}"))
    said = fix("m.yaml").stderr.splitlines()
    assert said[0].startswith("m.yaml:1:1: fixed: ResourceClaim gpu: Kubernetes ")
    assert said[-2:] == [
        "fixed 2 findings in 1 file",
        "checked 2 objects, 0 configs; 0 errors, 0 warnings",
    ]


def test_a_full_disk_leaves_the_file_and_the_report_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.yaml").write_text(OLD)
    (folder / "b.yaml").write_text("a: }\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = fix("a.yaml", "b.yaml")
    assert result.exit_code == 2
    assert "a.yaml: error: not fixed: No space left on device" in result.stdout
    assert "b.yaml:1:4: error: invalid YAML" in result.stdout
    assert (folder / "a.yaml").read_text() == OLD
    assert sorted(one.name for one in folder.iterdir()) == ["a.yaml", "b.yaml", "in"]


def test_a_read_only_file_stays(folder: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (folder / name).write_text(OLD)
    (folder / "a.yaml").chmod(0o444)
    result = fix("a.yaml", "b.yaml")
    assert (result.exit_code, (folder / "b.yaml").read_text()) == (2, NEW)
    assert "a.yaml: error: not fixed: it is read-only" in result.stdout
    assert (folder / "a.yaml").read_text() == OLD


def test_mode_stays_and_the_file_is_replaced_whole(folder: Path) -> None:
    path = folder / "m.yaml"
    path.write_text(OLD)
    path.chmod(0o640)
    before = path.open()
    fix("m.yaml")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (0o640, NEW)
    assert before.read() == OLD
    before.close()


@pytest.mark.parametrize("how", [".", "in", "in/link.yaml", "in/*.yaml"])
def test_a_link_out_of_the_named_folders_is_refused(folder: Path, how: str) -> None:
    outside = folder.parent / f"{folder.name}-outside.yaml"
    outside.write_text(OLD)
    (folder / "in" / "link.yaml").symlink_to(outside)
    result = fix(how)
    assert result.exit_code == 2
    assert "in/link.yaml: error: not fixed: a link to " in result.stdout
    assert outside.read_text() == OLD
    assert (folder / "in" / "link.yaml").is_symlink()


def test_a_link_within_the_named_folder_is_resolved(folder: Path) -> None:
    (folder / "m.yaml").write_text(OLD)
    (folder / "in" / "link.yaml").symlink_to("../m.yaml")
    result = fix(".", "--exclude", "m.yaml")
    assert result.exit_code == 0
    assert (folder / "m.yaml").read_text() == NEW
    assert (folder / "in" / "link.yaml").is_symlink()


def test_a_file_with_two_names_is_fixed_without_a_failure(folder: Path) -> None:
    (folder / "m.yaml").write_text(OLD)
    (folder / "in" / "link.yaml").symlink_to("../m.yaml")
    result = fix("m.yaml", "./m.yaml", ".")
    assert (result.exit_code, "not fixed" in result.stdout) == (0, False)
    assert (folder / "m.yaml").read_text() == NEW


def test_a_file_that_changed_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "m.yaml"
    path.write_text(OLD)
    resolve = Path.resolve

    def change(self: Path, *, strict: bool = False) -> Path:
        path.write_text("kind: Other\n")
        return resolve(self, strict=strict)

    monkeypatch.setattr(Path, "resolve", change)
    assert "not fixed: it changed while it was checked" in fix("m.yaml").stdout
    assert path.read_text() == "kind: Other\n"


def test_a_difference_shows_no_line_that_stays_and_nothing_to_obey(folder: Path) -> None:
    shutil.rmtree(folder / "in")
    (folder / "m.yaml").write_text(OLD.replace("kind", "# \u202e\nkind"))
    result = CliRunner().invoke(check, [str(folder / "m.yaml"), "--diff"])
    assert f"--- a{folder}/m.yaml\n" in result.stdout
    assert result.stdout.replace("\n", "").isprintable()
    changed = [
        one
        for one in result.stdout.splitlines()
        if one[0] in "+-" and one[:3] not in ("+++", "---")
    ]
    assert changed == [
        "-apiVersion: resource.k8s.io/v1beta1",
        "+apiVersion: resource.k8s.io/v1",
        "-      deviceClassName: gpu.example.com",
        "+      exactly:",
        "+        deviceClassName: gpu.example.com",
    ]
