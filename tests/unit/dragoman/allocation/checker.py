"""A second look at allocations, simpler than the allocator: every rule one by one, on plain JSON.

It knows nothing of search order; it only tells whether what was allocated may be held together.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dragoman_base.versions import Release, parse
from dragoman_cel import selectors
from dragoman_cel.values.quantityparser import parse_quantity

Json = dict[str, Any]
Key = tuple[str, str, str]


def faults(case: Json, results: list[Json]) -> list[str]:
    """Return what is wrong with the allocations of a case."""
    return [*_each(case, results), *_together(case, results)]


def _each(case: Json, results: list[Json]) -> Iterator[str]:
    devices = _devices(case)
    for claim, allocation in zip(case["claims"], results, strict=True):
        picked = allocation.get("devices", {}).get("results", [])
        yield from _counted(claim, picked)
        for result in picked:
            key = _key(result)
            if key not in devices:
                yield f"{key} does not exist"
                continue
            item, device = devices[key]
            asked = _asked(claim, result["request"])
            if not _here(case["node"], item["spec"], device):
                yield f"{key} is not on the node"
            if not _selected(case, asked, item, device):
                yield f"{key} is not selected by {result['request']}"
            taints = [*device.get("taints", ()), *_of_rules(case, key)]
            if case["features"].get("DeviceTaints") and not _tolerated(asked, taints):
                yield f"{key} has a taint"
        yield from _constraints(case, claim, picked, devices)


def _together(case: Json, results: list[Json]) -> Iterator[str]:
    devices = _devices(case)
    before = [result for claim in case["allocated"] for result in _held(claim)]
    now = [
        result
        for allocation in results
        for result in allocation.get("devices", {}).get("results", [])
        if _key(result) in devices
    ]
    exclusive = Counter(
        _key(result)
        for result in now
        if not result.get("shareID") and not result.get("adminAccess")
    )
    taken = {_key(result) for result in before if not _is_share(case, result)}
    for key, count in exclusive.items():
        if count > 1 or key in taken:
            yield f"{key} is held twice"
    shares = Counter(result["shareID"] for result in now if result.get("shareID"))
    if any(count > 1 for count in shares.values()):
        yield "a share ID is used twice"
    yield from _capacity(case, before, now, devices)
    yield from _counters(case, before, now, devices)


def _counted(claim: Json, picked: list[Json]) -> Iterator[str]:
    if len(picked) > 32:
        yield "more than 32 devices"
    served = Counter(result["request"] for result in picked)
    for request in claim["spec"]["devices"]["requests"]:
        names = [request["name"]]
        if "firstAvailable" in request:
            names = [f"{request['name']}/{sub['name']}" for sub in request["firstAvailable"]]
            if sum(1 for name in names if served[name]) != 1:
                yield f"{request['name']} is not served by one alternative"
        for name in names:
            asked = _asked(claim, name)
            if asked["allocationMode"] == "All":
                continue
            if served[name] not in (asked["count"], 0) or (
                "exactly" in request and served[name] != asked["count"]
            ):
                yield f"{name} gets {served[name]} of {asked['count']} devices"


def _asked(claim: Json, name: str) -> Json:
    top, _, sub = name.partition("/")
    for request in claim["spec"]["devices"]["requests"]:
        if request["name"] == top:
            if not sub:
                return dict(request["exactly"])
            return dict(next(one for one in request["firstAvailable"] if one["name"] == sub))
    raise AssertionError(name)


def _devices(case: Json) -> dict[Key, tuple[Json, Json]]:
    """Return all devices by identity: those for the node, else of the newest generation.

    While a pool moves to other nodes, its old generation still counts on the node.
    """
    found: dict[Key, tuple[Json, Json]] = {}
    ranked = [
        (
            _here(case["node"], item["spec"], device),
            item["spec"]["pool"]["generation"],
            item,
            device,
        )
        for item in case["slices"]
        for device in item["spec"].get("devices", ())
    ]
    for _, _, item, device in sorted(ranked, key=lambda one: one[:2]):
        spec = item["spec"]
        found[spec["driver"], spec["pool"]["name"], device["name"]] = (item, device)
    return found


def _here(node: Json, spec: Json, device: Json) -> bool:
    where = device if spec.get("perDeviceNodeSelection") else spec
    if where.get("nodeName"):
        return bool(where["nodeName"] == node["metadata"]["name"])
    if where.get("allNodes"):
        return True
    terms = where.get("nodeSelector", {}).get("nodeSelectorTerms", [])
    return any(_term(node, term) for term in terms if term)


def _term(node: Json, term: Json) -> bool:
    labels = node["metadata"].get("labels", {})
    if not all(_holds(labels.get(item["key"]), item) for item in term.get("matchExpressions", ())):
        return False
    name = node["metadata"]["name"]
    return all(
        (name == item["values"][0]) == (item["operator"] == "In")
        for item in term.get("matchFields", ())
    )


def _holds(value: str | None, item: Json) -> bool:
    values = item.get("values", [])
    match item["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
    return value is not None and int(value) < int(values[0])


def _selected(case: Json, asked: Json, item: Json, device: Json) -> bool:
    kind = next(
        one for one in case["classes"] if one["metadata"]["name"] == asked["deviceClassName"]
    )
    for selector in (*kind["spec"].get("selectors", ()), *asked.get("selectors", ())):
        compiled = selectors.compile(
            selector["cel"]["expression"],
            kubernetes=case["kubernetes"],
            list_attributes=bool(case["features"].get("ListTypeAttributes")),
            consumable_capacity=bool(case["features"].get("ConsumableCapacity")),
        )
        if not compiled.matches(device, driver=item["spec"]["driver"]):
            return False
    return True


def _of_rules(case: Json, key: Key) -> Iterator[Json]:
    for rule in case.get("taintRules", ()):
        selector = rule["spec"].get("deviceSelector")
        if selector is None and Release(parse(case["kubernetes"])).rules_need_selector:
            continue
        wanted = [(selector or {}).get(name) for name in ("driver", "pool", "device")]
        if all(one in (None, have) for one, have in zip(wanted, key, strict=True)):
            yield rule["spec"]["taint"]


def _tolerated(asked: Json, taints: list[Json]) -> bool:
    return all(
        taint["effect"] not in ("NoSchedule", "NoExecute")
        or any(_tolerates(one, taint) for one in asked.get("tolerations", ()))
        for taint in taints
    )


def _tolerates(toleration: Json, taint: Json) -> bool:
    same = all(toleration.get(key, taint[key]) == taint[key] for key in ("effect", "key"))
    if toleration["operator"] == "Exists":
        return same
    return same and bool(toleration.get("value", "") == taint.get("value", ""))


def _constraints(
    case: Json, claim: Json, picked: list[Json], devices: dict[Key, tuple[Json, Json]]
) -> Iterator[str]:
    lists = bool(case["features"].get("ListTypeAttributes"))
    for constraint in claim["spec"]["devices"].get("constraints", ()):
        name = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
        wanted = constraint.get("requests", [])
        sets = []
        for result in picked:
            top = result["request"].partition("/")[0]
            if wanted and top not in wanted and result["request"] not in wanted:
                continue
            if _key(result) in devices:
                sets.append(_values(name, *devices[_key(result)], lists=lists))
        if "matchAttribute" in constraint and sets and not set.intersection(*sets):
            yield f"{name} does not match"
        if "distinctAttribute" in constraint and sum(map(len, sets)) != len(set().union(*sets)):
            yield f"{name} is not distinct"


def _values(name: str, item: Json, device: Json, *, lists: bool) -> set[tuple[str, Any]]:
    domain, _, local = name.partition("/")
    attributes = device.get("attributes", {})
    attribute = attributes.get(name)
    if attribute is None and domain == item["spec"]["driver"]:
        attribute = attributes.get(local)
    found: set[tuple[str, Any]] = set()
    for kind, value in (attribute or {}).items():
        if isinstance(value, list):
            found |= {(kind.removesuffix("s"), one) for one in value} if lists else {("list", name)}
        else:
            found.add((kind, value))
    return found


def _capacity(
    case: Json, before: list[Json], now: list[Json], devices: dict[Key, tuple[Json, Json]]
) -> Iterator[str]:
    used: dict[tuple[Key, str], Fraction] = {}
    touched = {_key(result) for result in now if result.get("shareID")}
    for result in (*before, *now):
        if result in before and not _is_share(case, result):
            continue
        for name, amount in result.get("consumedCapacity", {}).items():
            at = (_key(result), name)
            used[at] = used.get(at, Fraction(0)) + _number(amount)
    for (key, name), amount in used.items():
        if key in touched and amount > _number(devices[key][1]["capacity"][name]["value"]):
            yield f"{key} has too little {name}"


def _counters(
    case: Json, before: list[Json], now: list[Json], devices: dict[Key, tuple[Json, Json]]
) -> Iterator[str]:
    new = {_key(result) for result in now}
    holders = ({_key(result) for result in before} | new) & devices.keys()
    used: dict[tuple[str, ...], Fraction] = {}
    for key in holders:
        for item in devices[key][1].get("consumesCounters", ()):
            for name, value in item["counters"].items():
                at = (*key[:2], item["counterSet"], name)
                used[at] = used.get(at, Fraction(0)) + _number(value["value"])
    touched = {key[:2] for key in new if devices[key][1].get("consumesCounters")}
    for item in case["slices"]:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        for counters in item["spec"].get("sharedCounters", ()):
            for name, value in counters["counters"].items():
                left = _number(value["value"]) - used.get((*pool, counters["name"], name), 0)
                if pool in touched and left < 0:
                    yield f"{pool} has too little of {counters['name']}/{name}"


def _is_share(case: Json, result: Json) -> bool:
    return bool(case["features"].get("ConsumableCapacity") and result.get("shareID"))


def _held(claim: Json) -> list[Json]:
    results = claim["status"]["allocation"]["devices"]["results"]
    return [result for result in results if not result.get("adminAccess")]


def _key(result: Json) -> Key:
    return result["driver"], result["pool"], result["device"]


def _number(text: str) -> Fraction:
    quantity = parse_quantity(text)
    return Fraction(quantity.value) * Fraction(10) ** quantity.scale
