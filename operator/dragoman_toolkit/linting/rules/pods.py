"""Rules about pods, and what makes pods, together with the claims that they name."""

from collections.abc import Iterator
from typing import Any

from dragoman_base.words.nearnames import certain, nearest
from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.findings.edits import Edit, Rename, Set
from dragoman_toolkit.linting.findings.finding import ERROR, WARNING, Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    mapping,
    sequence,
    text,
)
from dragoman_toolkit.linting.rules.extended import class_serving
from dragoman_toolkit.linting.selectors.scopes import scopes
from dragoman_toolkit.workloads import PodSpec

MISSING = "dra/reference-missing"
SHARED = "dra/shared-claim"
DOUBLE = "dra/double-request"
MAX_CONSUMERS = 256
CLAIM_KINDS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}
"""The kind that each field of an entry of `resourceClaims` names."""


def check_references(obj: Object, context: Context) -> Iterator[Problem]:
    """Find names that no object has."""
    for pods in obj.pod_specs:
        claims: dict[str, Object] = {}
        for steps, entry in pod_claims(pods):
            yield from _claim_reference(obj, steps, entry, context, claims)
        yield from _request_references(pods, claims)
    if obj.kind == "PodGroup" and obj.group == "scheduling.k8s.io":
        entries = sequence(mapping(obj.tree.get("spec")).get("resourceClaims"))
        for index, entry in enumerate(map(mapping, entries)):
            steps = ("spec", "resourceClaims", index)
            yield from _claim_reference(obj, steps, entry, context, {})
    for request in obj.requests:
        yield from _class_reference(
            (*request.steps, "deviceClassName"), request.class_name, context
        )


def pod_claims(pods: PodSpec) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Yield the entries of `resourceClaims`, their fields lifted out of `source`."""
    for index, entry in enumerate(map(mapping, sequence(pods.spec.get("resourceClaims")))):
        yield (*pods.steps, "resourceClaims", index), {**entry, **mapping(entry.get("source"))}


def _claim_reference(
    obj: Object, steps: Steps, entry: dict[str, Any], context: Context, claims: dict[str, Object]
) -> Iterator[Problem]:
    for field, kind in CLAIM_KINDS.items():
        name = text(entry.get(field))
        if not name:
            continue
        found = context.find(kind, obj.namespace, name)
        if found is not None:
            claims[text(entry.get("name"))] = found
            continue
        other = next(one for one in CLAIM_KINDS.values() if one != kind)
        swapped = context.find(other, obj.namespace, name)
        if swapped is not None:
            right = next(key for key, value in CLAIM_KINDS.items() if value == other)
            message = f"{render((*steps, field))}: {name} is a {other}, not a {kind}"
            advice, place = f"write {right}: {name}", (*steps, field)
            edits = (Rename(place, right),)
            yield Problem(MISSING, place, message, advice, ERROR, edits, safe=False)
        else:
            yield from _missing((*steps, field), kind, name, context, obj.namespace)


def _missing(
    steps: Steps, kind: str, name: str, context: Context, namespace: str = ""
) -> Iterator[Problem]:
    known = context.names.get(kind, set())
    # Many objects name the same one, and a repository may have thousands of names.
    memory = context.memory.setdefault("near names", {})
    if (kind, name) not in memory:
        guess = closest(name, known, edits=2)
        memory[kind, name] = guess, guess is not None and guess == certain(name, known)
    guess, only = memory[kind, name]
    if not context.complete and guess is None:
        return  # it may be in the cluster already
    message = f'{render(steps)}: no {kind} "{name}" in the input'
    if name in known:
        places = sorted(
            {one.namespace for one in context.objects if (one.kind, one.name) == (kind, name)}
        )
        message = (
            f'{render(steps)}: {kind} "{name}" is in namespace {", ".join(places)}, and this object'
            f" in {namespace}; a pod uses those of its own namespace only"
        )
    suggestion, edits = "", tuple[Edit, ...]()
    if guess and guess != name:
        suggestion = f'did you mean "{guess}"?'
        # It must be there for this object, and nothing else may be meant.
        there = only and context.find(kind, namespace, guess)
        edits = (Set(steps, guess),) if there else ()
    severity = ERROR if context.complete else WARNING
    yield Problem(MISSING, steps, message, suggestion, severity, edits, safe=False)


def _class_reference(steps: Steps, name: str, context: Context) -> Iterator[Problem]:
    if name and context.device_class(name) is None:
        yield from _missing(steps, "DeviceClass", name, context)


def _request_references(pods: PodSpec, claims: dict[str, Object]) -> Iterator[Problem]:
    for steps, container in pods.containers():
        entries = sequence(mapping(container.get("resources")).get("claims"))
        for index, entry in enumerate(map(mapping, entries)):
            claim = claims.get(text(entry.get("name")))
            request = text(entry.get("request"))
            if claim is None or not request:
                continue
            known = {one.name.partition("/")[0] for one in claim.requests}
            if request not in known:
                place = (*steps, "resources", "claims", index, "request")
                message = f'{render(place)}: {claim.title} has no request "{request}"'
                guess = nearest(request, known)
                listed = ", ".join(sorted(known))
                hint = f'did you mean "{guess}"?' if guess else f"it has: {listed}"
                edits = (Set(place, guess),) if guess and guess == certain(request, known) else ()
                yield Problem(MISSING, place, message, hint, ERROR, edits, safe=False)


def check_shared(obj: Object, context: Context) -> Iterator[Problem]:
    """Find one claim for more pods than can use its devices together.

    Source: an allocation to node-local devices binds all its pods to one node; status.reservedFor
    has at most 256 entries (pkg/apis/resource/types.go).
    """
    places: dict[str, Steps] = {}
    copies: dict[str, int | None] = {}
    for pods in obj.pod_specs:
        named: dict[str, Steps] = {}  # a pod that names a claim twice is one pod
        for steps, entry in pod_claims(pods):
            if name := text(entry.get("resourceClaimName")):
                named.setdefault(name, (*steps, "resourceClaimName"))
        for name, place in named.items():
            places.setdefault(name, place)
            before = copies.get(name, 0)
            copies[name] = None if None in (before, pods.copies) else before + pods.copies  # type: ignore[operator]
    for name, place in places.items():
        count = copies[name]
        if count is None or count > 1:
            yield from _shared(obj, name, place, count, context)


def _shared(
    obj: Object, name: str, place: Steps, count: int | None, context: Context
) -> Iterator[Problem]:
    several = "pods on every node" if count is None else f"{count} pods"
    if count is not None and count > MAX_CONSUMERS:
        message = f"{render(place)}: {several} name one claim, which takes {MAX_CONSUMERS}"
        yield Problem(SHARED, place, message, "write resourceClaimTemplateName")
        return
    local = _node_local(context, obj, name)
    if local is not False:
        where = ", all on one node" if local else ""
        message = f"{render(place)}: {several} share one claim and its devices{where}"
        yield Problem(SHARED, place, message, "resourceClaimTemplateName gives each its own")


def _node_local(context: Context, obj: Object, name: str) -> bool | None:
    """Tell whether all devices that a claim can get belong to one node each; None if unknown.

    Slices of the input say it, and what is known of drivers does.
    """
    claim = context.find("ResourceClaim", obj.namespace, name)
    if claim is None:
        return None
    from dragoman_toolkit.linting.selectors.implications import drivers_of  # noqa: PLC0415 — CEL is heavy

    drivers: set[str] = set()
    for scope in scopes(claim, context):
        named = drivers_of(scope, context)
        if not named:
            return None
        drivers |= named
    published = [_nodes_of(context).get(driver) for driver in drivers]
    if drivers and all(published):
        found = [one for several in published for one in several or ()]
        return True if all(found) else None if any(found) else False
    return True if context.devices.local(drivers) else None


def _nodes_of(context: Context) -> dict[str, list[bool]]:
    """Return by driver, for each of its slices, whether it belongs to one node."""
    found: dict[str, list[bool]] = context.memory.setdefault("slices by driver", {})
    if not found:
        for one in context.named:
            if one.kind == "ResourceSlice" and one.in_group:
                spec = mapping(one.tree.get("spec"))
                found.setdefault(text(spec.get("driver")), []).append(bool(spec.get("nodeName")))
    return found


def check_double(obj: Object, context: Context) -> Iterator[Problem]:
    """Find an extended resource and a claim that ask for devices of one class (KEP-5004)."""
    for pods in obj.pod_specs:
        yield from _double(obj, pods, context)


def _double(obj: Object, pods: PodSpec, context: Context) -> Iterator[Problem]:
    classes = _claimed_classes(obj, pods, context)
    if not classes:
        return
    for steps, container in pods.containers():
        resources = mapping(container.get("resources"))
        seen: set[str] = set()
        for part in ("limits", "requests"):
            for resource in mapping(resources.get(part)):
                owner = _class_of(resource, context)
                if owner in classes and resource not in seen:
                    seen.add(resource)
                    place = (*steps, "resources", part, resource)
                    message = (
                        f"{render(place)}: asks for a device of class {owner},"
                        f" and claim {classes[owner]} asks for another"
                    )
                    yield Problem(DOUBLE, place, message, "keep one of both")


def _claimed_classes(obj: Object, pods: PodSpec, context: Context) -> dict[str, str]:
    found: dict[str, str] = {}
    for _, entry in pod_claims(pods):
        for field, kind in CLAIM_KINDS.items():
            name = text(entry.get(field))
            claim = context.find(kind, obj.namespace, name) if name else None
            for request in claim.requests if claim else ():
                found.setdefault(request.class_name, text(entry.get("name")))
    return found


def _class_of(resource: str, context: Context) -> str:
    # Well-known classes whose driver replaces a device plugin of that resource name.
    replaced = {"nvidia.com/gpu": "gpu.nvidia.com", "amd.com/gpu": "gpu.amd.com"}
    return class_serving(resource, context) or replaced.get(resource, "")
