"""The harness itself: a real control plane that starts, counts, breaks and comes back."""

from collections.abc import Iterator

import pytest

from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import API_SERVER, ETCD, ControlPlane


@pytest.fixture(scope="module")
def node(plane: ControlPlane) -> Iterator[str]:
    plane.add_node("harness-node", devices=4, driver="harness.example.com")
    plane.api().create(plane.served(objects.device_class("harness", "harness.example.com")))
    yield "harness-node"
    plane.api().delete("deviceclasses", "harness")
    plane.remove_node("harness-node", driver="harness.example.com")


@pytest.mark.usefixtures("node")
def test_the_real_scheduler_allocates_a_device_for_a_claim_made_by_hand(
    plane: ControlPlane, namespace: str
) -> None:
    api = plane.api()
    api.create(plane.served(objects.claim("one", namespace, "harness")))
    api.create(objects.pod("user", namespace, claims={"gpu": "one"}))
    wait_for(lambda: api.get("pods", "user", namespace)["spec"].get("nodeName"))
    status = api.get("resourceclaims", "one", namespace)["status"]
    assert status["allocation"]["devices"]["results"][0]["driver"] == "harness.example.com"
    assert objects.names({"metadata": entry} for entry in status["reservedFor"]) == ["user"]


def test_the_audit_log_counts_each_write_by_its_user(plane: ControlPlane, namespace: str) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete"]}]
    writer = plane.user("writer", rules)
    mark = plane.audit.mark()
    manifests = [objects.config_map(f"c{index}", namespace) for index in range(20)]
    plane.api(writer).create_many(manifests)
    assert plane.audit.counts("writer", mark) == {"create configmaps": 20}
    assert plane.audit.counts("writer", mark, refused=True) == {}


def test_an_ordinary_user_is_refused_what_its_rules_do_not_allow(
    plane: ControlPlane, namespace: str
) -> None:
    reader = plane.user(
        "reader", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    )
    mark = plane.audit.mark()
    api = plane.api(reader)
    assert api.list("pods", namespace) == []
    with pytest.raises(ApiError, match="cannot create resource") as refusal:
        api.create(objects.pod("mine", namespace))
    assert (refusal.value.code, refusal.value.reason) == (403, "Forbidden")
    assert plane.audit.counts("reader", mark) == {}
    assert plane.audit.counts("reader", mark, refused=True) == {"create pods": 1}


@pytest.mark.parametrize("part", [API_SERVER, ETCD])
def test_killed_servers_come_back_with_their_data(
    plane: ControlPlane, namespace: str, part: str
) -> None:
    plane.api().create(objects.pod("survivor", namespace))
    plane.restart(part)
    assert objects.names(plane.api().list("pods", namespace)) == ["survivor"]
