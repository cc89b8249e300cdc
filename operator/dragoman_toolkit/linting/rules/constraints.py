"""Rules about constraints: attributes that exist, and devices that can share or differ in them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dragoman_base.words.nearnames import nearest
from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.findings.edits import Set
from dragoman_toolkit.linting.findings.finding import Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import ATTRIBUTES, COMMON, Given, common
from dragoman_toolkit.linting.knowledge.meant import standard_name
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, sequence, text
from dragoman_toolkit.linting.selectors.remark import NEVER, UNKNOWN
from dragoman_toolkit.linting.selectors.scopes import scopes

_UNIQUE = ("uuid", "mac", "serial", "serialNumber")
"""Attributes that identify one device among all others, in every driver that publishes them."""


def check_constraints(obj: Object, context: Context) -> Iterator[Problem]:
    """Check the constraints of a claim or template."""
    if obj.claim_steps is None:
        return
    for index, one in enumerate(map(mapping, sequence(obj.devices.get("constraints")))):
        for name in ("matchAttribute", "distinctAttribute"):
            attribute = one.get(name)
            if isinstance(attribute, str) and attribute.count("/") == 1:
                steps = (*obj.claim_steps, "constraints", index, name)
                problems = list(_unknown(attribute, steps, context))
                problems = problems or list(_lacking(obj, one, attribute, steps, context))
                yield from problems
                if not problems and name == "matchAttribute":
                    yield from _unshared(obj, one, attribute, steps, context)
                    yield from _unique(obj, one, attribute, steps)


def _unknown(attribute: str, steps: Steps, context: Context) -> Iterator[Problem]:
    domain, _, name = attribute.partition("/")
    devices = context.devices
    if meant := standard_name(domain, name, devices):
        message = f'{render(steps)}: no driver publishes the attribute "{attribute}"'
        yield _meant(message, f"{COMMON}/{meant}", steps)
        return
    if domain not in devices.domains:
        guess = closest(domain, set(devices.domains), edits=2)
        if guess or devices.given:
            message = f'{render(steps)}: no known driver publishes the domain "{domain}"'
            yield _meant(message, f"{guess}/{name}" if guess else "", steps)
        return
    names = devices.names(domain, ATTRIBUTES)
    if name not in names and not (common(domain) and not devices.given):
        guess = nearest(name, names)
        message = f'{render(steps)}: no known driver publishes the attribute "{attribute}"'
        yield _meant(message, f"{domain}/{guess}" if guess else "", steps)


def _meant(message: str, guess: str, steps: Steps) -> Problem:
    if not guess:
        return Problem(UNKNOWN, steps, message)
    edits = (Set(steps, guess),)
    return Problem(UNKNOWN, steps, message, f'did you mean "{guess}"?', edits=edits, safe=False)


def _lacking(
    obj: Object, constraint: dict[str, Any], attribute: str, steps: Steps, context: Context
) -> Iterator[Problem]:
    """Find a constraint on what no device of one of its requests has; it can never hold."""
    domain, _, name = attribute.partition("/")
    if domain not in context.devices.domains:
        return
    named = {text(one).partition("/")[0] for one in sequence(constraint.get("requests"))}
    for request, scope in zip(obj.requests, scopes(obj, context), strict=True):
        if named and request.name.partition("/")[0] not in named:
            continue
        sorts = _conditions().sorts_of(scope, context)
        if sorts and not any(one.knows(ATTRIBUTES, (domain, name)) for one in sorts):
            devices = ", ".join(sorted({one.title for one in sorts}))
            message = (
                f"{render(steps)}: devices of request {request.name} ({devices}) have no"
                f" {attribute}: the constraint never holds"
            )
            advice = "match an attribute that the devices of all its requests have"
            yield Problem(NEVER, steps, message, advice)
            return


def _conditions() -> ModuleType:
    from dragoman_toolkit.linting.rules import conditions  # noqa: PLC0415 — CEL is heavy

    return conditions


def _unique(
    obj: Object, constraint: dict[str, Any], attribute: str, steps: Steps
) -> Iterator[Problem]:
    """Find several devices that have to share what identifies each of them."""
    if attribute.partition("/")[2] not in _UNIQUE:
        return
    named = {text(one).partition("/")[0] for one in sequence(constraint.get("requests"))}
    wanted: dict[str, int] = {}
    for request in obj.requests:
        main = request.name.partition("/")[0]
        if not named or main in named:
            count = request.body.get("count")
            exact = request.body.get("allocationMode") != "All"
            least = count if type(count) is int and exact else 1
            wanted[main] = min(least, wanted.get(main, least))
    if sum(wanted.values()) > 1:
        message = f"{render(steps)}: each device has its own {attribute}"
        advice = "match an attribute that devices share, such as resource.kubernetes.io/pcieRoot"
        yield Problem(NEVER, steps, message, advice)


def _unshared(
    obj: Object, constraint: dict[str, Any], attribute: str, steps: Steps, context: Context
) -> Iterator[Problem]:
    """Find a constraint that the given devices cannot satisfy with two of them."""
    if not context.devices.given:
        return
    named = {text(one).partition("/")[0] for one in sequence(constraint.get("requests"))}
    candidates = _conditions().matching(obj, context)
    groups = {
        main: {_value(device, attribute) for device in found} - {None}
        for main, found in candidates.items()
        if not named or main in named
    }
    if len(groups) < 2:
        return
    shared = set.intersection(*groups.values())
    if not shared:
        message = (
            f"{render(steps)}: no given devices of these requests share a value of {attribute}"
        )
        yield Problem(NEVER, steps, message)


def _value(device: Given, attribute: str) -> tuple[str, Any] | None:
    attributes = mapping(device.body.get("attributes"))
    domain, _, name = attribute.partition("/")
    value = attributes.get(attribute)
    if value is None and domain == device.driver:
        value = attributes.get(name)
    found = [(kind, one) for kind, one in mapping(value).items() if not isinstance(one, list)]
    return found[0] if found else None
