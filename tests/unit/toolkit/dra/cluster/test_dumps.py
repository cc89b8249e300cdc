"""What `kubectl get -o json|yaml` prints stands for a snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import manifests as objects
from tests.support.dra import invoke
from tests.support.worlds.inventory import DRIVER, claim, device_class, held, pod, pool

Json = dict[str, Any]


def cluster() -> list[Json]:
    user = pod("user", claims={"gpu": "claim"}, node="w1")
    user["metadata"]["creationTimestamp"] = "2026-11-22T11:00:00Z"
    node = objects.node("w1")
    node.setdefault("status", {})["nodeInfo"] = {"kubeletVersion": "v1.35.2"}
    node["metadata"]["annotations"] = {"expires": "2999-01-01T00:00:00Z"}
    made = [
        node,
        device_class(),
        pool("w1", 2),
        held(claim(), ("w1", "device-0"), pods=[user]),
        user,
    ]
    for number, one in enumerate(made):
        one["metadata"].setdefault("uid", f"uid-{number}")
    plain: list[Json] = json.loads(json.dumps(made))  # kubectl writes no aliases
    return plain


def typed(made: list[Json]) -> list[Json]:
    """Return lists as `kubectl get --raw` prints them, whose items have no kind."""
    return [
        {
            "kind": f"{one['kind']}List",
            "items": [{key: one[key] for key in one if key not in ("kind", "apiVersion")}],
        }
        for one in made
    ]


FORMS = [
    pytest.param(lambda made: json.dumps({"kind": "List", "items": made}, indent=4), id="json"),
    pytest.param(lambda made: yaml.safe_dump({"kind": "List", "items": made}), id="yaml"),
    pytest.param(yaml.safe_dump_all, id="documents"),
    pytest.param(lambda made: "\n".join(map(json.dumps, typed(made))), id="lists of one kind"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_dump_is_read_as_a_snapshot(tmp_path: Path, form: Any) -> None:
    file = tmp_path / "dump"
    file.write_text(form(cluster()))
    result = invoke("who", "ns/user", "-o", "json", "--snapshot", file)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert [one["device"] for one in found["devices"]] == ["device-0"]
    assert (found["kubernetes"], found["takenAt"]) == ("v1.35.2", "2026-11-22T11:00:00Z")
    assert "read as output of kubectl get; it has no resourceclaimtemplates, " in result.stderr


def test_what_an_answer_needs_and_a_dump_lacks_is_named(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    waiting = pod("waits", claims={"gpu": "claim"})
    waiting["metadata"]["uid"] = "uid-of-waits"
    file.write_text(json.dumps({"kind": "List", "items": [*cluster()[:2], waiting]}))
    result = invoke("explain", "waits", "-n", "ns", "--snapshot", file)
    assert result.exit_code == 2
    said = "Cannot tell: the file has no resourceslices, resourceclaims; list them in `kubectl get`"
    assert said in result.stdout


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1, 2]",
        "just words",
        json.dumps({"kind": "List", "items": []}),
        "a: [",
        "kind: Pod",
    ],
)
def test_what_is_neither_says_how_to_make_one(tmp_path: Path, text: str) -> None:
    file = tmp_path / "dump"
    file.write_text(text)
    result = invoke("top", "--snapshot", file)
    assert result.exit_code == 2
    assert "kubectl dra snapshot" in result.stderr or "invalid" in result.stderr


def test_claims_of_another_group_are_no_claims(tmp_path: Path) -> None:
    other = {
        "apiVersion": "poolboy.gpte.redhat.com/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "lab", "namespace": "ns"},
        "spec": {"resources": "many"},
    }
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"kind": "List", "items": [*cluster(), other]}))
    result = invoke("who", f"{DRIVER}/w1/device-0", "-o", "json", "--snapshot", file)
    assert json.loads(result.stdout)["malformed"] == []
