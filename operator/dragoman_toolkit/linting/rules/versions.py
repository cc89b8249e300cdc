"""`dra/api-removed`, `dra/api-old` and `dra/unknown-field`: what was, what is, what never was.

Sources: KEP-3063 (classic DRA, withdrawn in 1.32), KEP-4381 (structured parameters: v1alpha3 in
1.31, v1beta1 in 1.32, v1beta2 in 1.33, v1 in 1.34), the served OpenAPI of the pinned versions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman_base.versions import DEFAULT, removal
from dragoman_base.versions import name as version_name
from dragoman_base.words.spelling import closest
from dragoman_configs.fielderrors import shorten
from dragoman_toolkit.linting.findings.edits import Edit, Lift, Nest, Rename, Set
from dragoman_toolkit.linting.findings.finding import ERROR, Problem, Steps, render
from dragoman_toolkit.linting.knowledge.api import QUANTITY_WORDS, Misfit, api_of, is_older
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import (
    FLAT_FIELDS,
    GROUP,
    Object,
    mapping,
    reach,
    sequence,
)
from dragoman_toolkit.linting.rules import hints, served
from dragoman_toolkit.linting.rules.gates import check_version, off_version
from dragoman_toolkit.linting.rules.units import quantity_meant

REMOVED = "dra/api-removed"
OLD = "dra/api-old"
UNKNOWN = "dra/unknown-field"

REMOVED_KINDS: Mapping[str, str] = {
    "ResourceClass": "DeviceClass replaced it: selectors choose devices, config configures them",
    "ResourceClassParameters": "`config` of a DeviceClass replaced it",
    "ResourceClaimParameters": "`selectors` and `config` of a claim replaced it",
    "PodSchedulingContext": "the scheduler allocates by itself; delete the object",
}
MAX_UNKNOWN = 100
"""Unknown fields of one object that are named one by one."""
_GONE_ALPHAS = ("v1alpha1", "v1alpha2", "v1alpha3")
_CONVERTIBLE = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
_SHAPES = ("v1alpha3", "v1beta1", "v1beta2", "v1")
_CLAIM_FIELDS: Mapping[str, str] = {
    "resourceClassName": "name a DeviceClass in devices.requests[].exactly.deviceClassName",
    "parametersRef": "write selectors into devices.requests, parameters into devices.config",
    "structuredParameters": "every claim is structured now; leave it out",
    "allocationMode": "claims are allocated when a pod is scheduled; leave it out",
    "controller": "drivers without structured parameters are gone; leave it out",
}
_CLASS_FIELDS: Mapping[str, str] = {
    "structuredParameters": "every class is structured now; leave it out",
    "parametersRef": "write opaque parameters into spec.config",
    "driverName": 'write a selector: device.driver == "…"',
    "suitableNodes": "devices say themselves on which nodes they are; leave it out",
}


def removed(obj: Object, context: Context) -> Iterator[Problem]:
    """Find what no server serves any more."""
    if obj.in_group:
        yield from _removed_kind(obj, context)
        for steps, known in _removed_places(obj):
            holder = mapping(reach(obj.tree, steps))
            for name, instead in known.items():
                if name in holder:
                    message = f"{name} was removed from the API in 1.32"
                    yield Problem(REMOVED, (*steps, name), message, instead)
    for pods in obj.pod_specs:
        for index, claim in enumerate(sequence(pods.spec.get("resourceClaims"))):
            if "source" in mapping(claim):
                steps = (*pods.steps, "resourceClaims", index, "source")
                message = "source was removed from the API in 1.31"
                instead = "move its field up: resourceClaimName or resourceClaimTemplateName"
                liftable = isinstance(claim["source"], dict)
                edits = (Lift(steps),) if liftable else ()
                yield Problem(REMOVED, steps, message, instead, edits=edits)


def _removed_kind(obj: Object, context: Context) -> Iterator[Problem]:
    if obj.kind in REMOVED_KINDS:
        message = f"{obj.kind} was removed from the API"
        yield Problem(REMOVED, ("kind",), message, REMOVED_KINDS[obj.kind], at_key=True)
        return
    if context.api.schema(obj.api_version, obj.kind) is not None or not obj.kind:
        return
    newest = context.api.newest(GROUP, obj.kind)
    if not newest:
        return
    if obj.version in _GONE_ALPHAS:
        message = f"{obj.api_version} {obj.kind} was removed from the API"
    else:
        message = f"Kubernetes {context.kubernetes} does not serve {obj.api_version} {obj.kind}"
    edits = conversion(obj, newest)
    yield Problem(REMOVED, ("apiVersion",), message, f"write {GROUP}/{newest}", edits=edits)


def _removed_places(obj: Object) -> Iterator[tuple[Steps, Mapping[str, str]]]:
    if obj.kind == "ResourceClaim":
        yield ("spec",), _CLAIM_FIELDS
    elif obj.kind == "ResourceClaimTemplate":
        yield ("spec", "spec"), _CLAIM_FIELDS
    elif obj.kind == "DeviceClass":
        yield ("spec",), _CLASS_FIELDS
        yield (), {name: _CLASS_FIELDS[name] for name in ("driverName", "parametersRef")}


def leaving(obj: Object, context: Context) -> tuple[Problem, ...]:
    """Find what the target version serves no more, or a later one will not."""
    gone = removal(obj.api_version, obj.kind)
    if gone is None or context.target is None:
        return ()
    newest = context.api.newest(GROUP, obj.kind) or obj.version
    edits = conversion(obj, newest) if newest != obj.version else ()
    instead = f"write {GROUP}/{newest}" if edits else "no other version is served yet"
    if gone <= context.target:
        message = f"Kubernetes {version_name(gone)} does not serve {obj.api_version} {obj.kind}"
        return (Problem(REMOVED, ("apiVersion",), message, instead, edits=edits),)
    message = f"Kubernetes {version_name(gone)} will not serve {obj.api_version} {obj.kind}"
    return (Problem(OLD, ("apiVersion",), message, instead, edits=edits),)


def old(obj: Object, context: Context) -> Iterator[Problem]:
    """Find versions older than the newest that the server has."""
    if context.api.schema(obj.api_version, obj.kind) is None:
        return
    if not obj.in_group:
        yield from check_version(obj, context, ())
        return
    newest = context.api.newest(GROUP, obj.kind)
    if context.any_version:
        # What only the newest servers have would be refused by others.
        newest = api_of(DEFAULT).newest(GROUP, obj.kind) or newest
    if not newest or not is_older(obj.version, newest):
        yield from check_version(obj, context, ())
        return
    message, severity = f"Kubernetes {context.kubernetes} serves {GROUP}/{newest} {obj.kind}", ""
    if off := off_version(obj, context):
        message += f", and {off} only with --runtime-config={off}=true"
        severity = ERROR
    instead = f"write {GROUP}/{newest}; --fix also moves the fields that changed places"
    edits = conversion(obj, newest)
    yield Problem(OLD, ("apiVersion",), message, instead, severity, edits)


def conversion(obj: Object, newest: str) -> tuple[Edit, ...]:
    """Return the edits that write an object in a newer version with the same meaning."""
    if obj.version not in _SHAPES:
        return ()
    edits: list[Edit] = [Set(("apiVersion",), f"{GROUP}/{newest}")]
    if _SHAPES.index(obj.version) <= _SHAPES.index("v1beta1") and obj.kind in _CONVERTIBLE:
        edits += [
            Nest(steps, "exactly", keys)
            for steps, keys in flat_requests(obj)
            if "exactly" not in mapping(reach(obj.tree, steps))
        ]
        if obj.kind == "ResourceSlice":
            for index, device in enumerate(sequence(reach(obj.tree, ("spec", "devices")))):
                if isinstance(mapping(device).get("basic"), dict):
                    edits.append(Lift(("spec", "devices", index, "basic")))
    return tuple(edits)


def flat_requests(obj: Object) -> Iterator[tuple[Steps, tuple[str, ...]]]:
    """Yield requests whose fields stand beside their name, with these fields in order."""
    if obj.claim_steps is None:
        return
    for index, request in enumerate(sequence(obj.devices.get("requests"))):
        keys = tuple(name for name in mapping(request) if name in FLAT_FIELDS)
        if keys:
            yield (*obj.claim_steps, "requests", index), keys


def unknown(obj: Object, context: Context, misfits: tuple[Misfit, ...]) -> Iterator[Problem]:
    """Find fields that the API does not have."""
    flat: set[Steps] = set()
    if obj.version in ("v1", "v1beta2"):
        for steps, keys in flat_requests(obj):
            flat |= {(*steps, key) for key in keys}
            yield _flat(obj, steps, keys)
    found = [one for one in misfits if one.keyword == "unknown" and one.steps not in flat]
    told = {problem.steps for problem in removed(obj, context)} if found else set()
    found = [one for one in found if one.steps not in told]
    for misfit in found[:MAX_UNKNOWN]:
        yield _unknown(obj, misfit, context)
    if len(found) > MAX_UNKNOWN:
        message = f"and {len(found) - MAX_UNKNOWN} more unknown fields"
        yield Problem(UNKNOWN, found[MAX_UNKNOWN].steps, message)


def _flat(obj: Object, steps: Steps, keys: tuple[str, ...]) -> Problem:
    first = (*steps, keys[0])
    message = f'unknown field "{render(first)}"'
    instead = f"move {', '.join(keys)} under `exactly`: only v1beta1 has them next to the name"
    request = mapping(reach(obj.tree, steps))
    mixed = "exactly" in request or "firstAvailable" in request
    edits = () if mixed else (Nest(steps, "exactly", keys),)
    return Problem(UNKNOWN, first, message, instead, edits=edits)


def _unknown(obj: Object, misfit: Misfit, context: Context) -> Problem:
    message = f'unknown field "{render(misfit.steps)}"'
    name = str(misfit.value)
    if name == "exactly" and obj.version == "v1beta1":
        return Problem(UNKNOWN, misfit.steps, message, "v1beta1 has no `exactly`; write v1")
    if other := served.elsewhere(obj, misfit, context):
        return Problem(UNKNOWN, misfit.steps, message, other)
    guess = closest(name, misfit.expected) or _elsewhere(name, misfit.expected)
    if unwrapped := _unwrapped(obj, misfit):
        return Problem(
            UNKNOWN, misfit.steps, message, hints.unknown_field(obj, misfit), edits=unwrapped
        )
    if advice := hints.unknown_field(obj, misfit):
        return Problem(UNKNOWN, misfit.steps, message, advice)
    holder = mapping(reach(obj.tree, misfit.steps[:-1]))
    edits = (Rename(misfit.steps, guess),) if guess and guess not in holder else ()
    advice = f'did you mean "{guess}"?' if guess else ""
    return Problem(UNKNOWN, misfit.steps, message, advice, edits=edits, safe=False)


def _unwrapped(obj: Object, misfit: Misfit) -> tuple[Edit, ...]:
    """Return the edit that takes the fields of a device out of `basic`, as since v1beta2."""
    basic = obj.kind == "ResourceSlice" and misfit.steps[-1:] == ("basic",)
    inner = reach(obj.tree, misfit.steps) if basic else None
    device = mapping(reach(obj.tree, misfit.steps[:-1]))
    return (Lift(misfit.steps),) if inner and not set(mapping(inner)) & set(device) else ()


def _elsewhere(name: str, known: tuple[str, ...]) -> str:
    """Find a known name that begins or ends alike, such as `class` and `deviceClassName`."""
    lower = name.lower()
    return next((one for one in known if len(lower) > 3 and lower in one.lower()), "")


def shape(misfits: tuple[Misfit, ...]) -> Iterator[Problem]:
    """Report what the decoder refuses beside unknown fields, in the API server's words."""
    for misfit in misfits:
        if misfit.keyword == "unknown":
            continue
        message = f"{render(misfit.steps)}: {_words(misfit)}"
        meant = _meant(misfit)
        advice = hints.misfit(misfit) or (f"write {meant}" if meant else "")
        edits = (Set(misfit.steps, meant),) if meant else ()
        yield Problem("dra/invalid", misfit.steps, message, advice, edits=edits, safe=False)


def _meant(misfit: Misfit) -> str:
    """Return the value that can only be meant; empty without one."""
    if not isinstance(misfit.value, str):
        return ""
    if misfit.keyword == "format" and misfit.expected == ("quantity",):
        return quantity_meant(misfit.value) or ""
    return (closest(misfit.value, misfit.expected) or "") if misfit.keyword == "enum" else ""


def _words(misfit: Misfit) -> str:
    match misfit.keyword:
        case "enum":
            listed = ", ".join(f'"{value}"' for value in misfit.expected)
            return f'Unsupported value: "{misfit.value}": supported values: {listed}'
        case "format" if misfit.expected == ("quantity",) and hints.misfit(misfit):
            # The hint says what is meant; the pattern of quantities would only hide it.
            return f"Invalid value: {_shown(misfit.value)}: must be a quantity"
        case "format" if misfit.expected == ("quantity",):
            return f"Invalid value: {_shown(misfit.value)}: {QUANTITY_WORDS}"
        case "format":
            return f"Invalid value: {_shown(misfit.value)}: cannot parse as RFC 3339 time"
        case "range":
            low, high = misfit.expected
            return f"Invalid value: {_shown(misfit.value)}: must be between {low} and {high}"
        case _:
            found = _go_type(misfit.value)
            return f"Invalid value: cannot unmarshal {found} into field of type {_one(misfit)}"


def _one(misfit: Misfit) -> str:
    return misfit.expected[0]


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names: dict[type[Any], str] = {str: "string", dict: "object", list: "array"}
    return names.get(type(value), "number")


def _shown(value: Any) -> str:
    return shorten(value)
