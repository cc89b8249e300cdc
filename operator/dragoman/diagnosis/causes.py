"""What of a pod's requests no node can ever meet, counted with all devices free."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from dragoman.allocation import Code, class_of
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.allocation.reasons.obstacles import DeviceObstacle
from dragoman.allocation.requests.expressions import Expression, Failure
from dragoman.diagnosis.crowding import crowded
from dragoman.diagnosis.meant import RequestDevices
from dragoman.diagnosis.selectorparts import (
    Comparison,
    comparison,
    driver_of,
    missing_text,
    quantity_of,
    untrue_text,
    value_missing_text,
    values_of,
)
from dragoman.diagnosis.wording import listed, shortened, value_text
from dragoman.inventory.facts.world import NodeFact, World
from dragoman.model.amounts import AmountError, amount
from dragoman.model.device import Content
from dragoman.model.requests import Constraint
from dragoman_base.words import natural
from dragoman_base.words.nearnames import nearest

SHOWN = 2
"""Parts of one selector that are named."""


def impossible(
    world: World, nodes: Sequence[NodeFact], devices: Sequence[RequestDevices]
) -> tuple[str, ...]:
    """Return why no node can ever serve a pod, at least one reason.

    Args:
        world: The facts.
        nodes: Where it may run.
        devices: Of each request on these nodes.
    """
    found = [*_of_requests(world, devices)]
    found = found or [*crowded(world, devices)] or [*_constraints(nodes, devices)]
    return tuple(dict.fromkeys(found or [_apart(devices)]))


# Each request alone -------------------------------------------------------------------------------


def _of_requests(world: World, devices: Iterable[RequestDevices]) -> Iterator[str]:
    groups: defaultdict[tuple[str, str], list[RequestDevices]] = defaultdict(list)
    for one in devices:
        groups[one.claim, one.request.request_name].append(one)
    every = list(groups.values())
    for alternatives in every:
        texts = [_alone(world, one) for one in alternatives]
        if not all(texts):
            continue
        if len(alternatives) > 1:
            parts = zip(alternatives, texts, strict=True)
            yield "; ".join(f"{one.name.rpartition('/')[2]}: {text}" for one, text in parts)
        elif len(every) > 1 and not alternatives[0].claim.endswith(EXTENDED):
            yield f"request {alternatives[0].name}: {texts[0]}"
        else:
            yield texts[0]


def _alone(world: World, one: RequestDevices) -> str:
    """Say why a request can never be served alone; empty where it can."""
    if not one.most:
        return _nothing(world, one)
    if one.wanted <= one.most or one.shareable:
        return ""
    return _too_many(world, one, one.wanted, one.most)


def _too_many(world: World, one: RequestDevices, wanted: int, most: int) -> str:
    resource = _resource(world, one)
    if resource:
        return f"{wanted} x {resource} wanted, the most of one node is {most}"
    full = (name for name, there in one.meant.items() if len(there) == most)
    where = shortened(sorted(full, key=natural))
    return f"{wanted} devices on one node wanted, the most of one node is {most} ({where})"


def _resource(world: World, one: RequestDevices) -> str:
    """Return the extended resource that a request stands for; empty for another request."""
    if not one.claim.endswith(f"/{EXTENDED}"):
        return ""
    kind = one.request.device_class
    served = class_of(kind.extended_resource or "", world.classes)
    return kind.extended_resource if served and kind.extended_resource else kind.name


def _nothing(world: World, one: RequestDevices) -> str:
    """Say why a request means no device."""
    drivers = {name for part in one.parts if (name := driver_of(part))}
    published = {item.driver for item in world.slices}
    for name in sorted(drivers - published):
        return f"no ResourceSlice of driver {name}: is the driver installed?"
    contents = [content for content in one.others if _is_of_driver(one, content)]
    if not contents:
        kind = one.request.device_class.name
        return f"no device of class {kind} is on the nodes where the pod may run"
    if unknown := one.lacking((Code.CAPACITY_UNKNOWN,)):
        return _unknown_capacity(unknown)
    if suited := one.lacking():
        return next(iter(_capacities(suited.values())), "")
    if lacking := one.lacking((Code.CONSTRAINT_FAILED,)):
        compared = next(iter(lacking.values())).details.get("attribute")
        return f"no device has attribute {compared}, which a constraint compares"
    failing = [
        part for part in one.parts if all(part.on(content) is not True for content in contents)
    ]
    if failing:
        return " and ".join(never_true(part, contents) for part in failing[:SHOWN])
    texts = " && ".join(part.text for part in one.parts if driver_of(part) == "")
    return f"no device meets {texts} at once" if texts else "no device meets its selectors"


def _unknown_capacity(unknown: Mapping[Content, DeviceObstacle]) -> str:
    """Say that no device has a capacity of which a request wants a part."""
    name = str(next(iter(unknown.values())).details.get("capacity"))
    there = {full.rpartition("/")[2] for content in unknown for full in content.capacity}
    near = nearest(name.rpartition("/")[2], there)
    return f"no device has capacity {name}" + (f": did you mean {near}?" if near else "")


def _is_of_driver(one: RequestDevices, content: Content) -> bool:
    return all(part.on(content) is True for part in one.parts if part.reads == (("driver",),))


def _capacities(obstacles: Iterable[object]) -> Iterator[str]:
    """Yield how much of a capacity is wanted, and the most that a device has."""
    most: dict[str, tuple[str, str]] = {}
    for one in obstacles:
        details = getattr(one, "details", {})
        name = str(details.get("capacity") or "")
        value, wanted = str(details.get("value") or ""), str(details.get("rounded") or "")
        if name and value and (name not in most or _larger(value, most[name][1])):
            most[name] = (wanted, value)
        elif name and not value:
            yield f"the devices allow no such amount of {name.rpartition('/')[2]}"
    for name, (wanted, value) in most.items():
        yield f"{name.rpartition('/')[2]} {wanted} wanted, {value} is the most of a device"


def _larger(one: str, other: str) -> bool:
    try:
        return amount(one).nanos > amount(other).nanos
    except AmountError:
        return False


def never_true(part: Expression, contents: Sequence[Content]) -> str:
    """Say what a conjunct wants that no device has."""
    compared = comparison(part)
    for path in part.reads:
        if len(path) == 3 and not any(values_of(content, path) for content in contents):
            there = any(_has_domain(content, path[1]) for content in contents)
            return missing_text(*path, has_domain=there)
    wanted = quantity_of(part)
    if wanted and len(part.reads) == 1:
        values = {value for content in contents for value in values_of(content, part.reads[0])}
        most = reduce(lambda one, other: other if _larger(other, one) else one, sorted(values))
        if any(_larger(wanted, value) for value in values) and not _larger(most, wanted):
            more = "" if _larger(wanted, most) else "more than "
            name = part.reads[0][2]
            return f"{name} {more}{wanted} wanted, {most} is the most of a device"
    return _compared(compared, contents) if compared else _generic(part, contents)


def _has_domain(content: Content, domain: str) -> bool:
    names = (*content.attributes, *content.capacity)
    return any(
        name.partition("/")[0] == domain if "/" in name else content.driver == domain
        for name in names
    )


def _compared(compared: Comparison, contents: Sequence[Content]) -> str:
    counts = _counts(compared.path, contents)
    name = compared.path[-1]
    return f"{value_missing_text(name, compared.value)} ({name} is {counts})"


def _counts(path: Sequence[str], contents: Sequence[Content]) -> str:
    counts = Counter(
        value_text(value) for content in contents for value in values_of(content, path)
    )
    return shortened(str(value) for value, _ in counts.most_common())


def _generic(part: Expression, contents: Sequence[Content]) -> str:
    failures = {found.message for one in contents if isinstance(found := part.on(one), Failure)}
    if len(failures) == 1 and all(part.on(one) is not False for one in contents):
        return f"{part.text} fails on every device: {min(failures)}"
    seen = (f"{path[-1]} is {_counts(path, contents)}" for path in part.reads if len(path) == 3)
    values = "; ".join(seen)
    return untrue_text(part) + (f" ({values})" if values else "")


# All requests together ----------------------------------------------------------------------------


def _constraints(nodes: Sequence[NodeFact], devices: Sequence[RequestDevices]) -> Iterator[str]:
    """Yield constraints whose values go together on no node."""
    seen = set()
    for one in devices:
        for index in one.request.constraints:
            key = (one.claim, index)
            if key in seen:
                continue
            seen.add(key)
            bound = [
                other
                for other in devices
                if other.claim == one.claim
                and index in other.request.constraints
                and "/" not in other.name
            ]
            constraint = one.request.claim.constraints[index]
            if bound and not any(
                _meets(constraint, index, bound, node.node.name) for node in nodes
            ):
                yield constraint_text(
                    constraint,
                    {other.name: (other.wanted, _all_values(other, index)) for other in bound},
                )


def _all_values(one: RequestDevices, index: int) -> Sequence[str]:
    return sorted({value for values in one.values(index).values() for value in values})


def _meets(constraint: Constraint, index: int, bound: Sequence[RequestDevices], node: str) -> bool:
    """Tell whether the values of a node's devices let requests be served."""
    by_request = [(one.wanted, _by_value(one, index, node)) for one in bound]
    if constraint.match_attribute is None:
        different = {value for _, counts in by_request for value in counts}
        return len(different) >= sum(wanted for wanted, _ in by_request)
    values = {value for _, counts in by_request for value in counts}
    return any(all(counts[value] >= wanted for wanted, counts in by_request) for value in values)


def _by_value(one: RequestDevices, index: int, node: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for content in one.meant.get(node, {}).values():
        counts.update(one.compared(index, content))
    return counts


def constraint_text(
    constraint: Constraint, requests: Mapping[str, tuple[int, Sequence[str]]]
) -> str:
    """Say which values of a constraint's attribute do not go together.

    Args:
        constraint: The constraint.
        requests: How many devices each request wants, and which values its devices have.
    """
    attribute = constraint.attribute
    if constraint.match_attribute is None:
        wanted = sum(many for many, _ in requests.values())
        every = sorted({value for _, there in requests.values() for value in there})
        there = f"there are {len(every)} values ({shortened(every)})"
        return f"{wanted} devices with different {attribute} wanted, {there}"
    if len(requests) > 1:
        named = [f"{name} ({shortened(values)})" for name, (_, values) in requests.items()]
        return f"no {listed(named)} share {attribute}"
    ((name, (wanted, values)),) = requests.items()
    if wanted > 1 and len(values) >= wanted:
        return (
            f"every device has another {attribute} ({shortened(values)}), and {wanted} of request "
            f"{name} have to share it"
        )
    return f"no {wanted} devices of request {name} share {attribute} ({shortened(values)})"


def _apart(devices: Sequence[RequestDevices]) -> str:
    """Say what remains: each request has its devices, but no node serves all of them."""
    nodes = {
        one.name: [node for node, there in one.meant.items() if len(there) >= one.wanted]
        for one in devices
        if "/" not in one.name
    }
    common = set.intersection(*map(set, nodes.values())) if nodes else {""}
    if nodes and not common:
        named = [
            f"{name} ({shortened(sorted(there, key=natural))})" for name, there in nodes.items()
        ]
        return f"no node has devices for {listed(named)}"
    return "no node has a combination of devices that serves all requests"
