"""Rules and held claims: what is written is what is read."""

import pytest

from dragoman.inventory.snapshots.documents import reduced
from dragoman.maintenance import holds, manifests
from dragoman.maintenance.holds import HoldKind, HoldSelector, HoldTaint, parse_taint
from dragoman.maintenance.manifests import Origin, selectors
from dragoman.model.deviceid import DeviceID
from tests.unit.dragoman.maintenance.builders import API, A, B, held_claim, rule

ORIGIN = Origin("XID 79", "ann", "gpu-3")


def test_a_rule_is_read_as_written() -> None:
    made = manifests.rule_manifest(
        API, HoldSelector(*A), HoldTaint("example.com/xid", "79"), ORIGIN
    )
    (found,) = holds.read([reduced("devicetaintrules", made)], ())
    assert (found.kind, found.selector, str(found.taint)) == (
        HoldKind.RULE,
        HoldSelector(*A),
        "example.com/xid=79:NoSchedule",
    )
    assert (found.reason, found.author, found.maintenance) == ("XID 79", "ann", "gpu-3")
    assert found.managed
    assert found.keeps_away


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize("allocated", [True, False])
def test_a_held_claim_is_read_as_written(version: str, allocated: bool) -> None:
    device = DeviceID("gpu.example.com", "rack/1", "gpu-3")
    made = manifests.claim_manifest(f"resource.k8s.io/{version}", "ops", device, ORIGIN)
    if allocated:
        made["status"] = {"allocation": manifests.allocation(device)}
    (found,) = holds.read((), [reduced("resourceclaims", made)])
    assert found.selector == HoldSelector(*device)
    assert found.keeps_away is allocated
    assert found.name.startswith("dragoman-hold-gpu-3-")


def test_other_claims_are_no_holds() -> None:
    assert holds.parse_claim({"metadata": {"name": "mine"}}) is None


def test_foreign_rules_are_not_managed() -> None:
    made = manifests.rule_manifest(API, HoldSelector(*A), HoldTaint("k"), Origin())
    del made["metadata"]["labels"]
    assert not holds.parse_rule(made).managed


def test_names_depend_on_what_is_held_and_for_what() -> None:
    again = manifests.rule_manifest(API, HoldSelector(*A), holds.HOLD_TAINT, Origin("other", "bob"))
    assert again["metadata"]["name"] == rule().name
    assert rule(HoldSelector(*B)).name != rule().name
    assert held_claim(B).name != held_claim(A).name
    other = manifests.rule_manifest(API, HoldSelector(*A), holds.HOLD_TAINT, ORIGIN)
    assert other["metadata"]["name"] != rule().name


@pytest.mark.parametrize(
    ("name", "slug"), [("GPU_0", "gpu-0"), ("..", "device"), ("x" * 300, "x" * 30)]
)
def test_names_are_those_of_the_api(name: str, slug: str) -> None:
    made = manifests.held_claim_name(DeviceID("d", "p", name))
    assert made.startswith(f"dragoman-hold-{slug}-")


def test_a_pool_that_is_meant_as_a_whole_gets_one_rule() -> None:
    assert selectors([A, B]) == (HoldSelector(*A), HoldSelector(*B))
    assert selectors([A, B], [(A.driver, A.pool)]) == (HoldSelector(A.driver, A.pool),)


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("k:NoSchedule", HoldTaint("k")),
        ("example.com/xid=79:NoExecute", HoldTaint("example.com/xid", "79", "NoExecute")),
        ("k=:None", HoldTaint("k", "", "None")),
    ],
)
def test_taints_as_kubectl_writes_them(text: str, taint: HoldTaint) -> None:
    assert parse_taint(text) == taint


@pytest.mark.parametrize(
    "text", ["k", "k:Never", "=v:None", "dragoman.dev/maintenance:NoSchedule", "a b:None"]
)
def test_what_is_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"KEY|kubectl dra hold"):
        parse_taint(text)
