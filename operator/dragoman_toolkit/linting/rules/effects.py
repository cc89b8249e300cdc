"""What an API server takes and what has no effect, or never ends as meant.

Sources: pkg/apis/resource/types.go (AllocationResultsMaxSize), the scheduler's handling of
`spec.nodeName`, k8s.io/dynamic-resource-allocation/structured (counters, binding conditions).
"""

from collections.abc import Iterator
from typing import Any

from dragoman_toolkit.linting.findings.finding import Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    mapping,
    reach,
    sequence,
    text,
)
from dragoman_toolkit.linting.rules.pods import CLAIM_KINDS, pod_claims
from dragoman_toolkit.linting.selectors.scopes import scopes
from dragoman_toolkit.workloads import OF_NETWORK, PodSpec

TOO_MANY = "dra/too-many-devices"
UNUSED = "dra/claim-unused"
NODE_NAME = "dra/node-name"
NO_GRACE = "dra/no-grace"
CONFIG_UNUSED = "dra/config-unused"
NO_EFFECT = "dra/no-effect"
MAX_RESULTS = 32
"""Devices that one claim can get."""


def check_amount(obj: Object, _: Context) -> Iterator[Problem]:
    """Find a claim for more devices than one allocation can hold."""
    if obj.claim_steps is None:
        return
    wanted = sum(_devices(mapping(one)) for one in sequence(obj.devices.get("requests")))
    if wanted > MAX_RESULTS:
        steps = (*obj.claim_steps, "requests")
        message = f"{render(steps)}: {wanted} devices; one claim gets at most {MAX_RESULTS}"
        yield Problem(TOO_MANY, steps, message, "write several claims")


def _devices(request: dict[str, Any]) -> int:
    alternatives = [_count(mapping(one)) for one in sequence(request.get("firstAvailable"))]
    exact = request.get("exactly")
    return min(alternatives) if alternatives else _count(mapping(exact) if exact else request)


def _count(body: dict[str, Any]) -> int:
    count = body.get("count")
    return count if type(count) is int and body.get("allocationMode") != "All" else 1


def check_grace(obj: Object, _: Context) -> Iterator[Problem]:
    """Find pods with claims that are deleted at once (kubernetes/kubernetes#141471)."""
    for pods in obj.pod_specs:
        grace = pods.spec.get("terminationGracePeriodSeconds")
        # KubeVirt gives the pod of a virtual machine more time than the machine itself.
        machine = "domain" in pods.spec
        if type(grace) is int and grace == 0 and not machine and any(pod_claims(pods)):
            steps = (*pods.steps, "terminationGracePeriodSeconds")
            message = (
                f"{render(steps)}: 0 takes a pod out of the API immediately: its devices may go to "
                "another pod while its containers still run"
            )
            yield Problem(NO_GRACE, steps, message, "write 1 or more, 30 is the default")


def check_use(obj: Object, context: Context) -> Iterator[Problem]:
    """Find claims of pods whose devices no container sees, or that nothing allocates."""
    for pods in obj.pod_specs:
        named = {text(mapping(one).get("name")) for _, uses in pods.uses() for one in uses}
        claims = list(pod_claims(pods))
        for steps, entry in claims:
            name = text(entry.get("name"))
            if name and name not in named and not _of_network(obj, entry, context):
                message = f"{render(steps)}: no container uses claim {name}, and sees its devices"
                advice = f"write `- name: {name}` into resources.claims of the container"
                yield Problem(UNUSED, steps, message, advice)
        if claims and pods.spec.get("nodeName") and not obj.tree.get("status"):
            yield _bound(pods)


def _bound(pods: PodSpec) -> Problem:
    steps = (*pods.steps, "nodeName")
    message = f"{render(steps)}: passes the scheduler by, which alone allocates claims"
    return Problem(NODE_NAME, steps, message, "write nodeSelector: {kubernetes.io/hostname: …}")


def _of_network(obj: Object, entry: dict[str, Any], context: Context) -> bool:
    """Tell whether names say that the devices are of the network, or the class is not known."""
    names = [text(entry.get("name"))]
    for field, kind in CLAIM_KINDS.items():
        name = text(entry.get(field))
        claim = context.find(kind, obj.namespace, name) if name else None
        names += [name, *(one.class_name for one in (claim.requests if claim else ()))]
    return any(OF_NETWORK.search(one) for one in names)


def check_config_drivers(obj: Object, context: Context) -> Iterator[Problem]:
    """Find configs for a driver that serves none of the requests that they are for."""
    if obj.in_group and obj.kind == "DeviceClass":
        steps: Steps = ("spec", "config")
        configs = sequence(reach(obj.tree, steps))
    elif obj.claim_steps is not None:
        steps = (*obj.claim_steps, "config")
        configs = sequence(obj.devices.get("config"))
    else:
        return
    if not configs:
        return
    drivers = _drivers(obj, context)
    for index, config in enumerate(map(mapping, configs)):
        driver = text(reach(config, ("opaque", "driver")))
        wanted = [text(one) for one in sequence(config.get("requests"))]
        found = [
            drivers[name]
            for name in drivers
            if not wanted or name in wanted or name.partition("/")[0] in wanted
        ]
        if not driver or not found or not all(found) or any(driver in one for one in found):
            continue
        listed = ", ".join(sorted(set().union(*found)))
        place = (*steps, index, "opaque", "driver")
        message = f"{render(place)}: {driver} serves none of these devices; {listed} does"
        yield Problem(CONFIG_UNUSED, place, message, f"write driver: {listed}", at_key=False)


def _drivers(obj: Object, context: Context) -> dict[str, frozenset[str]]:
    """Return the drivers of each request, or of the class itself under the empty name."""
    from dragoman_toolkit.linting.selectors.implications import drivers_of  # noqa: PLC0415 — CEL is heavy

    names = [one.name for one in obj.requests] or [""]
    found: dict[str, frozenset[str]] = {}
    for name, scope in zip(names, scopes(obj, context), strict=False):
        found[name] = drivers_of(scope, context)
    return found


def check_slice_effects(obj: Object, context: Context) -> Iterator[Problem]:
    """Find what a driver publishes and nothing ever heeds."""
    if not obj.in_group or obj.kind not in (
        "ResourceSlice",
        "ResourceClaim",
        "ResourceClaimTemplate",
    ):
        return
    for request in obj.requests:
        steps = (*request.steps, "capacity", "requests")
        for name, value in mapping(reach(request.body, ("capacity", "requests"))).items():
            if str(value).startswith("-"):
                message = f"{render((*steps, name))}: {value} is less than nothing and asks for 0"
                yield Problem(NO_EFFECT, (*steps, name), message, "write the amount wanted")
    for index, device in enumerate(map(mapping, sequence(reach(obj.tree, ("spec", "devices"))))):
        place: Steps = ("spec", "devices", index)
        if isinstance(device.get("basic"), dict):
            yield from _device(obj, (*place, "basic"), device["basic"], context)
        else:
            yield from _device(obj, place, device, context)


def _device(
    obj: Object, place: Steps, device: dict[str, Any], context: Context
) -> Iterator[Problem]:
    if device.get("bindsToNode") is True and not device.get("bindingConditions"):
        steps = (*place, "bindsToNode")
        message = f"{render(steps)}: has no effect without bindingConditions"
        yield Problem(NO_EFFECT, steps, message, "leave it out, or name bindingConditions")
    seen: set[tuple[str, str]] = set()
    for number, taint in enumerate(map(mapping, sequence(device.get("taints")))):
        key = text(taint.get("key")), text(taint.get("effect"))
        if key in seen:
            steps = (*place, "taints", number)
            message = f"{render(steps)}: another taint has the key {key[0]} and effect {key[1]}"
            yield Problem(NO_EFFECT, steps, message, "keep one of both")
        seen.add(key)
    known = _counter_sets(obj, context)
    for number, one in enumerate(map(mapping, sequence(device.get("consumesCounters")))):
        name = text(one.get("counterSet"))
        if known is not None and name not in known:
            steps = (*place, "consumesCounters", number, "counterSet")
            message = f"{render(steps)}: no slice of the pool has the counters {name}"
            listed = ", ".join(sorted(known))
            advice = f"it has: {listed}" if listed else "publish a slice with sharedCounters"
            yield Problem(NO_EFFECT, steps, message, f"{advice}; the device is never allocated")


def _counter_sets(obj: Object, context: Context) -> set[str] | None:
    """Return the counter sets of an object's pool; None where the input lacks slices of it."""
    memory = context.memory.setdefault("counters", {})
    if not memory:
        for one in context.objects:
            if one.in_group and one.kind == "ResourceSlice":
                sets, slices = memory.setdefault(_pool(one), (set(), []))
                shared = sequence(reach(one.tree, ("spec", "sharedCounters")))
                sets |= {text(mapping(counter).get("name")) for counter in shared}
                slices.append(reach(one.tree, ("spec", "pool", "resourceSliceCount")))
    sets, slices = memory.get(_pool(obj), (set(), []))
    whole = bool(slices) and all(count == len(slices) for count in slices)
    return sets if sets or whole else None


def _pool(obj: Object) -> tuple[str, str]:
    spec = mapping(obj.tree.get("spec"))
    return text(spec.get("driver")), text(reach(spec, ("pool", "name")))
