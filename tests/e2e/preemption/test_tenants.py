"""A tenant with every right in one namespace: no pod of others ends, and no name is learned."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random

import pytest

from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.preemption.stored import FINALIZER, digest
from tests.e2e.maintenance.ward import Site, Ward
from tests.e2e.preemption.conftest import PREEMPTIONS
from tests.e2e.rbac import PREEMPTION_ACCOUNT
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.hostile import Tries, scaled
from tests.support.tenants import tenant

pytestmark = [pytest.mark.hostile("preemption"), pytest.mark.usefixtures("policies")]
EVERYTHING = ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},)
KEY = "dragoman.dev/preemption"


@dataclass(frozen=True)
class Attacker:
    """A tenant who knows more than tenants can: UIDs of others, and the devices that they have.

    Attributes:
        api: Who attacks.
        name: The namespace.
        ward: Of the prey.
        prey: A pod of low priority, with the only device of its node.
        mine: An own pod of the same priority, which waits for that device.
        chance: Of everything random.
    """

    api: Api
    name: str
    ward: Ward
    prey: Json
    mine: Json
    chance: Random

    def serial(self, prefix: str) -> str:
        """Return a new name."""
        return f"{prefix}-{self.chance.getrandbits(48):x}"

    def uid(self) -> str:
        """Return a UID that an attack may name."""
        return str(self.chance.choice((self.prey, self.mine))["metadata"]["uid"])

    @property
    def device(self) -> Json:
        """The device of the prey."""
        return dict(zip(("driver", "pool", "device"), self.ward.device().split("/"), strict=True))


def forge_journal(by: Attacker) -> None:
    """Create a record of a preemption, as the operator would, and write how far it is."""
    uid = by.mine["metadata"]["uid"]
    name = by.chance.choice((uid, f"{uid}-2", by.serial("forged")))
    made = {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DevicePreemption",
        "metadata": {
            "name": name,
            "namespace": by.name,
            "finalizers": by.chance.choice(([], [FINALIZER])),
        },
        "spec": {
            "mode": by.chance.choice(("Preempt", "Report")),
            "attempt": 1,
            "node": by.ward.nodes[0],
            "pod": {"name": "mine", "uid": uid, "priority": 1000},
            "victimDigests": [digest(by.prey["metadata"]["uid"])],
            "reserved": [by.device],
        },
    }
    with refused():
        by.api.create(made)


def change_report(by: Attacker) -> None:
    """Make the operator's report an instruction, or write its status."""
    for one in by.api.list(PREEMPTIONS, by.name):
        name = one["metadata"]["name"]
        with refused():
            by.api.patch(PREEMPTIONS, name, by.name, {"spec": {"mode": "Preempt"}})
        with refused():
            status = {"phase": "Evicting", "evictions": []}
            by.api.patch(PREEMPTIONS, name, by.name, {"status": status}, subresource="status")
    if by.chance.random() < 0.2:
        by.api.delete_all(PREEMPTIONS, by.name)


def tolerate(by: Attacker) -> None:
    """Create a claim or a template that tolerates reservations of others."""
    toleration: Json = {"key": KEY, "operator": "Exists"}
    if by.chance.random() < 0.5:
        toleration = {"key": KEY, "operator": "Equal", "value": by.uid()}
    if by.chance.random() < 0.5:
        toleration["effect"] = "NoSchedule"
    wanted = {"deviceClassName": by.ward.name, "tolerations": [toleration]}
    request: Json = {"name": "a", "exactly": wanted}
    if by.chance.random() < 0.5:
        request = {"name": "a", "firstAvailable": [{"name": "b", **wanted}]}
    made = objects.claim(by.serial("thief"), by.name, by.ward.name)
    if by.chance.random() < 0.3:
        made = objects.template(by.serial("thief"), by.name, by.ward.name)
        made["spec"]["spec"]["devices"]["requests"] = [request]
    else:
        made["spec"]["devices"]["requests"] = [request]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": by.uid()}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    with refused():
        by.api.create(made)


def reserve(by: Attacker) -> None:
    """Create a rule that reserves the device for an own pod."""
    uid = by.mine["metadata"]["uid"]
    made = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": by.serial("dragoman-preemption"), "labels": {KEY: uid}},
        "spec": {
            "deviceSelector": by.device,
            "taint": {"key": KEY, "value": uid, "effect": "NoExecute"},
        },
    }
    with refused():
        by.api.create(made)


def forge_pod_status(by: Attacker) -> None:
    """Say of an own pod what the scheduler says of one that it preempts for, or preempted."""
    conditions = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
    ]
    status: Json = {"conditions": by.chance.sample(conditions, by.chance.randint(0, 2))}
    if by.chance.random() < 0.3:
        status["nominatedNodeName"] = by.ward.nodes[0]
    if by.chance.random() < 0.5:
        claim = by.chance.choice(("someone-elses", "mine-gpu"))
        status["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim}]
    with suppress(ApiError):
        by.api.patch("pods", "mine", by.name, {"status": status}, subresource="status")


def forge_claim_status(by: Attacker) -> None:
    """Give the device to an own claim, which the prey, or an own pod, seems to use."""
    name = by.serial("forged")
    by.api.create(objects.claim(name, by.name, by.ward.name))
    user = by.chance.choice((by.prey, by.mine))["metadata"]
    result = {"request": "gpu", **by.device}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": user["name"], "uid": user["uid"]}],
    }
    with suppress(ApiError):
        by.api.patch("resourceclaims", name, by.name, {"status": status}, subresource="status")
    by.api.delete("resourceclaims", name, by.name)


def take_priority(by: Attacker) -> None:
    """Give an own pod the priority of important ones, without a class."""
    made = objects.pod(by.serial("proud"), by.name, templates={"gpu": "one"}, priority=10**6)
    with refused():
        by.api.create(made)


ATTACKS: tuple[Callable[[Attacker], None], ...] = (
    forge_journal,
    change_report,
    tolerate,
    reserve,
    forge_pod_status,
    forge_claim_status,
    take_priority,
)


@contextmanager
def refused() -> Iterator[None]:
    """Expect that the API server refuses a request, or that it changes nothing."""
    with pytest.raises(ApiError) as caught:
        yield
    # A policy, a rule of the definition; an object that is gone, or there already, is as good.
    assert caught.value.code in {403, 404, 409, 422}, str(caught.value)


def test_a_tenant_gets_nobody_evicted_and_reserves_nothing(
    preempting: Site, ward: Ward, tries: Tries
) -> None:
    plane = preempting.plane
    ward.pod("prey", priorityClassName="low")
    device = ward.placed("prey")["prey"]
    prey = ward.api.get("pods", "prey", ward.name)
    name = plane.create_namespace("tenant")
    api = tenant(plane, name, EVERYTHING)
    api.create(objects.template("one", name, ward.name))
    mine = api.create(objects.pod("mine", name, templates={"gpu": "one"}, priorityClassName="low"))
    # Its plan names the prey, and is only reported: the claim tolerates no reservation.
    api.create(objects.claim("own", name, ward.name))
    api.create(objects.pod("reported", name, claims={"gpu": "own"}, priorityClassName="high"))
    wait_for(lambda: api.list(PREEMPTIONS, name), message="a report")
    attacker = Attacker(api, name, ward, prey, mine, Random(28))
    wait_for(lambda: policies_act(attacker), message="the policies to act")
    since = plane.audit.mark()
    count = scaled(100, least=21)

    for number in range(count):
        ATTACKS[number % len(ATTACKS)](attacker)

    honest = Ward(plane, nodes=1, devices=1)
    try:
        # The operator has planned since: an honest pod gets its device.
        honest.pod("low", priorityClassName="low")
        honest.placed("low")
        train = honest.pod("train", priorityClassName="high")
        honest.placed("train")
    finally:
        honest.clear_devices()
    now = ward.api.get("pods", "prey", ward.name)["metadata"]
    assert (now["uid"], now.get("deletionTimestamp")) == (prey["metadata"]["uid"], None)
    assert ward.device_of("prey") == device
    for namespace in (ward.name, name):
        written = plane.audit.writes(PREEMPTION_ACCOUNT, since, namespace=namespace)
        assert not [one for one in written if "eviction" in one.what or "claims" in one.what]
    created = plane.audit.writes(
        PREEMPTION_ACCOUNT, since, resource="devicetaintrules", verb="create"
    )
    reserved = [(one.body["spec"]["taint"]["value"], device_in(one.body)) for one in created]
    assert reserved == [(train["metadata"]["uid"], honest.device())]
    # Nothing stays reserved, once the honest pod has its device.
    wait_for(
        lambda: not plane.api().list("devicetaintrules", labelSelector=PREEMPTION),
        message="no reservation to be left",
    )
    tries(count)
    api.delete_all("pods", name, gracePeriodSeconds=0)


def device_in(rule: Json) -> str:
    """Return the device that a DeviceTaintRule selects, as commands take it."""
    selector = rule["spec"]["deviceSelector"]
    return "/".join(selector[part] for part in ("driver", "pool", "device"))


def policies_act(attacker: Attacker) -> bool:
    """Whether policies, which act a moment after they were made, refuse what they should."""
    try:
        for attack in (forge_journal, tolerate):
            attack(attacker)
    except (AssertionError, pytest.fail.Exception):
        return False
    return True


def test_a_tenant_learns_no_name_of_others(preempting: Site, ward: Ward) -> None:
    plane = preempting.plane
    ward.pod("secret", priorityClassName="low")
    ward.placed("secret")
    secret = ward.api.get("pods", "secret", ward.name)
    name = plane.create_namespace("tenant")
    api = tenant(plane, name, EVERYTHING)
    api.create(objects.template("one", name, ward.name))
    api.create(objects.pod("mine", name, templates={"gpu": "one"}, priorityClassName="high"))
    seen: set[str] = set()

    def placed() -> bool:
        for kind in (PREEMPTIONS, "events.events.k8s.io", "pods", "resourceclaims"):
            seen.update(json.dumps(one) for one in api.list(kind, name))
        journals = api.list(PREEMPTIONS, name)
        return any(one.get("status", {}).get("phase") == "Placed" for one in journals)

    wait_for(placed, 60, "the device of the other namespace's pod")

    assert any('"reason": "DevicePreempting"' in one for one in seen)
    told = [one for one in seen if "secret" in one or secret["metadata"]["uid"] in one]
    assert not told
    api.delete_all("pods", name, gracePeriodSeconds=0)
