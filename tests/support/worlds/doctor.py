"""For each finding a small cluster that has it, and the nearest one that has not.

The manifests are complete, statuses too, so that the same worlds stand in files and on a real API
server. `uid-of-NAMESPACE-NAME` stands for the UID of a pod; objects that have a deletionTimestamp
are to be deleted after they were created.
"""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.doctor.finding import Id
from tests.support import manifests as objects
from tests.support.manifests import Json

OLD = "2026-11-22T09:00:00Z"
PROTECTION = "resource.kubernetes.io/delete-protection"
TAINT = {"key": "example.com/xid", "value": "79", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Case:
    """A finding's worlds.

    Attributes:
        id: The finding.
        about: How the subject's text begins or ends.
        bad: A cluster that has the finding once.
        good: A cluster that differs in one respect, and has it not.
    """

    id: Id
    about: str
    bad: tuple[Json, ...]
    good: tuple[Json, ...]


class World:
    """Makes objects of one world.

    Args:
        name: Of its namespace, and part of the names of nodes, drivers and classes.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.driver = f"gpu.{name}.example.com"

    def node(self, index: int = 0, allocatable: Mapping[str, str] | None = None) -> Json:
        made = objects.node(f"{self.name}-n{index}")
        for key in ("capacity", "allocatable"):
            made["status"][key] = {
                **made["status"][key],
                **(allocatable or {}),
            }
        return made

    def slice(self, devices: Iterable[Any] = ("d0", "d1"), index: int = 0, **pool: Any) -> Json:
        node, part = f"{self.name}-n{index}", pool.pop("part", 0)
        made = objects.resource_slice(node, [*devices], self.driver, f"{node}-{part}")
        made["spec"]["pool"].update(pool)
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": f"uid-of-node-{node}"}
        made["metadata"]["ownerReferences"] = [owner]
        return made

    def device_class(self, **spec: Any) -> Json:
        made = objects.device_class(f"{self.name}-class", self.driver)
        made["spec"].update(spec)
        return made

    def claim(
        self,
        name: str = "claim",
        *devices: str,
        users: Iterable[str] = (),
        request: Json | None = None,
        result: Json | None = None,
        **meta: Any,
    ) -> Json:
        """Make a claim that holds devices of the first node."""
        made = objects.claim(name, self.name, f"{self.name}-class", **meta)
        exactly = {"allocationMode": "ExactCount", "count": max(len(devices), 1)}
        made["spec"]["devices"]["requests"][0]["exactly"] |= {**exactly, **(request or {})}
        if not devices:
            return made
        results = [
            {
                "request": "devices",
                "driver": self.driver,
                "pool": f"{self.name}-n0",
                "device": device,
                **(result or {}),
            }
            for device in devices
        ]
        consumers = [
            {"resource": "pods", "name": user, "uid": f"uid-of-{self.name}-{user}"}
            for user in users
        ]
        made["status"] = {"allocation": {"devices": {"results": results}}}
        if consumers:
            made["status"]["reservedFor"] = consumers
        return made

    def pod(self, name: str = "pod", **more: Any) -> Json:
        """Make a pod that runs on the first node."""
        published = more.pop("published", {})
        made = objects.pod(name, self.name, **{"nodeName": f"{self.name}-n0", **more})
        made["metadata"]["uid"] = f"uid-of-{self.name}-{name}"
        made["status"] = {"phase": "Running"}
        if published:
            made["status"]["resourceClaimStatuses"] = [
                {"name": entry, "resourceClaimName": claim} for entry, claim in published.items()
            ]
        return made

    def plugin(self, index: int, *, ready: bool = True) -> Json:
        """Make the pod of a kubelet plugin on a node."""
        folders = ("plugins_registry", f"plugins/{self.driver}")
        volumes = [
            {"name": f"v{number}", "hostPath": {"path": f"/var/lib/kubelet/{folder}"}}
            for number, folder in enumerate(folders)
        ]
        made = self.pod(f"plugin-{index}", nodeName=f"{self.name}-n{index}", volumes=volumes)
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "name": "plugin",
                "uid": "11111111-2222-3333-4444-555555555555",
                "controller": True,
            }
        ]
        status = "True" if ready else "False"
        condition = {"type": "Ready", "status": status, "lastTransitionTime": OLD}
        made["status"]["conditions"] = [condition]
        return made

    def owned(self, claim: Json, pod: str) -> Json:
        """Make a pod the owner of a claim, as the controller does."""
        made = copy.deepcopy(claim)
        made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod,
                "uid": f"uid-of-{self.name}-{pod}",
                "controller": True,
            }
        ]
        return made

    def base(self, *more: Json) -> tuple[Json, ...]:
        """Return a node, its pool and its class, with further objects."""
        return (self.node(), self.slice(), self.device_class(), *more)


def _pool_incomplete(world: World) -> Case:
    return Case(
        Id.POOL_INCOMPLETE,
        f"{world.driver}/{world.name}-n0",
        (world.node(), world.slice(resourceSliceCount=2)),
        (world.node(), world.slice(resourceSliceCount=1)),
    )


def _pool_invalid(world: World) -> Case:
    first = world.slice(["d0"], resourceSliceCount=2)
    return Case(
        Id.POOL_INVALID,
        f"{world.driver}/{world.name}-n0",
        (world.node(), first, world.slice(["d0"], resourceSliceCount=2, part=1)),
        (world.node(), first, world.slice(["d1"], resourceSliceCount=2, part=1)),
    )


def _device_lost(world: World) -> Case:
    pod = world.pod(claims={"gpu": "claim"})
    return Case(
        Id.DEVICE_LOST,
        f"{world.name}/claim",
        world.base(pod, world.claim("claim", "gone", users=["pod"])),
        world.base(pod, world.claim("claim", "d1", users=["pod"])),
    )


def _double_booked(world: World) -> Case:
    resource = f"{world.name}.example.com/gpu"
    rest = (world.slice(), world.device_class(extendedResourceName=resource))
    return Case(
        Id.DOUBLE_BOOKED,
        f"{world.name}-n0 {resource}",
        (world.node(0, {resource: "2"}), *rest),
        (world.node(0, {resource: "0"}), *rest),
    )


def _share(world: World, number: int, memory: str) -> Json:
    result = {
        "shareID": f"11111111-2222-3333-4444-55555555555{number}",
        "consumedCapacity": {"memory": memory},
    }
    return world.claim(f"share-{number}", "d0", users=[f"p{number}"], result=result)


def _shared(world: World) -> tuple[Json, ...]:
    """Return two pods and a device of which the first one has a share."""
    device = {
        "name": "d0",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "4Gi"}},
    }
    pods = (world.pod(f"p{number}", claims={"gpu": f"share-{number}"}) for number in (1, 2))
    rest = (world.node(), world.slice([device]), world.device_class())
    return (*pods, *rest, _share(world, 1, "2Gi"))


def _share_over_capacity(world: World) -> Case:
    return Case(
        Id.SHARE_OVER_CAPACITY,
        f"{world.driver}/{world.name}-n0/d0",
        (*_shared(world), _share(world, 2, "3Gi")),
        (*_shared(world), _share(world, 2, "2Gi")),
    )


def _consumed_negative(world: World) -> Case:
    return Case(
        Id.CONSUMED_NEGATIVE,
        f"{world.name}/share-2",
        (*_shared(world), _share(world, 2, "-1Gi")),
        (*_shared(world), _share(world, 2, "1Gi")),
    )


def _finalizer_stuck(world: World) -> Case:
    deleted: Json = {"finalizers": [PROTECTION], "deletionTimestamp": OLD}
    return Case(
        Id.FINALIZER_STUCK,
        f"{world.name}/claim",
        world.base(world.claim("claim", "d0", **deleted)),
        world.base(
            world.pod(claims={"gpu": "claim"}), world.claim("claim", "d0", users=["pod"], **deleted)
        ),
    )


def _containers_not_ended(world: World) -> Case:
    left = {"uid": f"{world.name}-gone", "pod": "gone", "node": f"{world.name}-n0"}

    def held(grace: int) -> Json:
        record = json.dumps([{**left, "graceSeconds": grace, "left": OLD}])
        made = world.claim("claim", "d0", annotations={"dragoman.dev/left-consumers": record})
        consumer = {"resource": "pods", "name": "gone", "uid": left["uid"]}
        made["status"]["reservedFor"] = [consumer]
        return made

    return Case(
        Id.CONTAINERS_NOT_ENDED,
        f"{world.name}/claim",
        world.base(held(30)),
        world.base(held(10**9)),
    )


def _webhook_missing(world: World) -> Case:
    schema = {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DriverConfigSchema",
        "metadata": {"name": world.driver},
        "spec": {"driver": world.driver, "mode": "Enforce", "configs": []},
    }
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["resourceclaims"],
    }
    webhook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": world.name},
        "webhooks": [
            {
                "name": "configs.dragoman.dev",
                "rules": [rule],
                "clientConfig": {"url": "https://127.0.0.1:1/validate"},
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
    return Case(Id.WEBHOOK_MISSING, world.driver, (schema,), (schema, webhook))


def _claim_idle(world: World) -> Case:
    return Case(
        Id.CLAIM_IDLE,
        f"{world.name}/claim",
        world.base(world.claim("claim", "d0")),
        world.base(world.pod(claims={"gpu": "claim"}), world.claim("claim", "d0", users=["pod"])),
    )


def _claim_unowned(world: World) -> Case:
    pod = world.pod(templates={"gpu": "template"}, published={"gpu": "claim"})
    claim = world.claim("claim", "d0", users=["pod"])
    ownerless = copy.deepcopy(claim)
    ownerless["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    return Case(
        Id.CLAIM_UNOWNED,
        f"{world.name}/claim",
        world.base(pod, ownerless),
        world.base(pod, world.owned(claim, "pod")),
    )


def _template_drift(world: World) -> Case:
    pod = world.pod(templates={"gpu": "template"}, published={"gpu": "claim"})
    claim = world.owned(world.claim("claim", "d0", users=["pod"]), "pod")

    def template(count: int) -> Json:
        made = objects.template("template", world.name, f"{world.name}-class")
        exactly = made["spec"]["spec"]["devices"]["requests"][0]["exactly"]
        exactly |= {"allocationMode": "ExactCount", "count": count}
        return made

    return Case(
        Id.TEMPLATE_DRIFT,
        f"{world.name}/claim",
        world.base(pod, claim, template(2)),
        world.base(pod, claim, template(1)),
    )


def _consumers_near_limit(world: World) -> Case:
    def crowded(count: int) -> Json:
        return world.claim("claim", "d0", users=[f"user-{number}" for number in range(count)])

    one = world.pod("user-0")
    return Case(
        Id.CONSUMERS_NEAR_LIMIT,
        f"{world.name}/claim",
        world.base(one, crowded(240)),
        world.base(one, crowded(239)),
    )


def _driver_silent(world: World) -> Case:
    rest = tuple(make(index=index) for index in (0, 1) for make in (world.node, world.slice))
    return Case(
        Id.DRIVER_SILENT,
        f"{world.driver} on {world.name}-n1",
        (*rest, world.plugin(0), world.plugin(1, ready=False)),
        (*rest, world.plugin(0), world.plugin(1)),
    )


def _tainted_in_use(world: World) -> Case:
    pool = world.slice([{"name": "d0", "taints": [{**TAINT, "timeAdded": OLD}]}])
    rest = (world.node(), pool, world.device_class(), world.pod(claims={"gpu": "claim"}))
    toleration = {"key": TAINT["key"], "operator": "Exists"}
    return Case(
        Id.TAINTED_IN_USE,
        f"{world.name}/claim",
        (*rest, world.claim("claim", "d0", users=["pod"])),
        (
            *rest,
            world.claim("claim", "d0", users=["pod"], request={"tolerations": [toleration]}),
        ),
    )


def _hold_stale(world: World) -> Case:
    return Case(
        Id.HOLD_STALE,
        f"{world.name}/dragoman-hold-x",
        world.base(world.claim("dragoman-hold-x", "gone")),
        world.base(world.claim("dragoman-hold-x", "d0")),
    )


def _admin_overlap(world: World) -> Case:
    pods = (world.pod(claims={"gpu": "claim"}), world.pod("watch", claims={"gpu": "monitor"}))
    monitor = world.claim(
        "monitor",
        "d1",
        users=["watch"],
        request={"adminAccess": True},
        result={"adminAccess": True},
    )
    return Case(
        Id.ADMIN_OVERLAP,
        f"{world.name}/monitor",
        world.base(*pods, monitor, world.claim("claim", "d1", users=["pod"])),
        world.base(*pods, monitor, world.claim("claim", "d0", users=["pod"])),
    )


def _known_fault(world: World) -> Case:
    waiting: Json = {"schedulingGates": [{"name": "example.com/later"}], "nodeName": None}
    return Case(
        Id.KNOWN_FAULT,
        "kubernetes#138407",
        (world.pod(templates={"a": "one", "b": "two"}, **waiting),),
        (world.pod(templates={"a": "one"}, **waiting),),
    )


def _named(world: World, *attributes: Json) -> tuple[Json, ...]:
    """Return a node with one device for each map of attributes."""
    devices = [{"name": f"d{index}", "attributes": one} for index, one in enumerate(attributes)]
    return (world.node(), world.slice(devices))


def _name_own_domain(world: World) -> Case:
    name = f"{world.driver}/model"
    return Case(
        Id.NAME_OWN_DOMAIN,
        f"{world.driver} {name}",
        _named(world, {"model": {"string": "a"}, name: {"string": "b"}}),
        _named(world, {"model": {"string": "a"}, f"other.{name}": {"string": "b"}}),
    )


def _name_non_standard(world: World) -> Case:
    name = "resource.kubernetes.io/pciRoot"
    return Case(
        Id.NAME_NON_STANDARD,
        f"{world.driver} {name}",
        _named(world, {name: {"string": "pci0000:00"}}),
        _named(world, {"resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"}}),
    )


def _name_mixed_type(world: World) -> Case:
    return Case(
        Id.NAME_MIXED_TYPE,
        f"{world.driver} index",
        _named(world, {"index": {"int": 1}}, {"index": {"string": "2"}}),
        _named(world, {"index": {"int": 1}}, {"index": {"int": 2}}),
    )


def _slice_unowned(world: World) -> Case:
    owned = world.slice()
    bare = copy.deepcopy(owned)
    del bare["metadata"]["ownerReferences"]
    about = f"{world.driver}/{world.name}-n0"
    return Case(Id.SLICE_UNOWNED, about, (world.node(), bare), (world.node(), owned))


def _counter_overdrawn(world: World) -> Case:
    sets = world.slice((), resourceSliceCount=2)
    sets["spec"]["sharedCounters"] = [{"name": "card", "counters": {"memory": {"value": "4Gi"}}}]
    del sets["spec"]["devices"]

    def pool(need: str) -> tuple[Json, ...]:
        consumed = [{"counterSet": "card", "counters": {"memory": {"value": need}}}]
        device = {"name": "d0", "consumesCounters": consumed}
        return (world.node(), sets, world.slice([device], part=1, resourceSliceCount=2))

    about = f"{world.driver}/{world.name}-n0"
    return Case(Id.COUNTER_OVERDRAWN, about, pool("5Gi"), pool("4Gi"))


def _policy_default_too_big(world: World) -> Case:
    def shared(default: str) -> tuple[Json, ...]:
        policy = {"default": default, "validRange": {"min": "1Gi"}}
        capacity = {"memory": {"value": "4Gi", "requestPolicy": policy}}
        device = {"name": "d0", "allowMultipleAllocations": True, "capacity": capacity}
        return (world.node(), world.slice([device]))

    about = f"{world.driver}/{world.name}-n0"
    return Case(Id.POLICY_DEFAULT_TOO_BIG, about, shared("5Gi"), shared("4Gi"))


def _driver_not_conformant(world: World) -> Case:
    world.driver = "gpu.example.com"

    def running(tag: str) -> tuple[Json, ...]:
        plugin = world.plugin(0)
        image = f"registry.example.com/mirror/dra-example-driver:{tag}"
        plugin["spec"]["containers"][0]["image"] = image
        return (world.node(), world.slice(), plugin)

    about = "gpu.example.com v0.4.0"
    return Case(Id.DRIVER_NOT_CONFORMANT, about, running("v0.4.0"), running("v0.4.1"))


def _class_fails(world: World) -> Case:
    def selecting(expression: str) -> tuple[Json, ...]:
        device = {"name": "d0", "attributes": {"modelName": {"string": "x"}}}
        selector = {"cel": {"expression": expression}}
        return (world.node(), world.slice([device]), world.device_class(selectors=[selector]))

    own, read = f'device.driver == "{world.driver}"', f'device.attributes["{world.driver}"]'
    return Case(
        Id.CLASS_FAILS,
        f"{world.name}-class",
        selecting(f'{own} && {read}.modelname == "x"'),
        selecting(f'{own} && {read}.modelName == "x"'),
    )


def _class_empty(world: World) -> Case:
    def selecting(driver: str) -> tuple[Json, ...]:
        selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
        return (world.node(), world.slice(), world.device_class(selectors=[selector]))

    about = f"{world.name}-class"
    return Case(
        Id.CLASS_EMPTY, about, selecting(f"gpx.{world.name}.example.com"), selecting(world.driver)
    )


def _reference_missing(world: World) -> Case:
    waits = world.pod(nodeName="", templates={"gpu": "h100-pairs"})
    waits["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False"}],
    }

    def named(name: str) -> tuple[Json, ...]:
        return world.base(waits, objects.template(name, world.name, f"{world.name}-class"))

    about = f"{world.name}/pod"
    return Case(Id.REFERENCE_MISSING, about, named("h100-pair"), named("h100-pairs"))


def _pod_unseen(world: World) -> Case:
    def scheduled(by: str) -> tuple[Json, ...]:
        waits = world.pod(nodeName="", claims={"gpu": "claim"}, schedulerName=by)
        seen = {"type": "PodScheduled", "status": "False"}
        waits["status"] = {
            "phase": "Pending",
            "conditions": [seen] if by != "gpu-scheduler" else [],
        }
        return world.base(waits, world.claim())

    about = f"{world.name}/pod"
    return Case(Id.POD_UNSEEN, about, scheduled("gpu-scheduler"), scheduled("default-scheduler"))


_MAKERS: tuple[Callable[[World], Case], ...] = (
    _pool_incomplete,
    _pool_invalid,
    _device_lost,
    _double_booked,
    _share_over_capacity,
    _consumed_negative,
    _finalizer_stuck,
    _containers_not_ended,
    _webhook_missing,
    _claim_idle,
    _claim_unowned,
    _template_drift,
    _consumers_near_limit,
    _driver_silent,
    _tainted_in_use,
    _hold_stale,
    _admin_overlap,
    _name_own_domain,
    _name_non_standard,
    _name_mixed_type,
    _slice_unowned,
    _counter_overdrawn,
    _policy_default_too_big,
    _known_fault,
    _driver_not_conformant,
    _class_fails,
    _class_empty,
    _reference_missing,
    _pod_unseen,
)


def cases(prefix: str = "w") -> list[Case]:
    """Return the worlds of all findings; those of one finding share their names."""
    return [maker(World(f"{prefix}{index}")) for index, maker in enumerate(_MAKERS)]
