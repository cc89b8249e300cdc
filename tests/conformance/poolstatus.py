"""Random pools, and the status that kube-controller-manager gives them less its known faults."""

from random import Random
from typing import Any

from dragoman.inventory.poolstatus.status import PoolFacts, pool_statuses
from dragoman.model.claim import Claim
from dragoman.model.slice import parse_slice
from dragoman.model.taints import parse_taint_rule

Json = dict[str, Any]
DRIVERS = ("gpu.example.com", "net.example.com")
ATTRIBUTE = "gpu.example.com/profile"
EFFECTS = ("None", "NoSchedule", "NoExecute")
ORDERED = ("PartitionTypeMissing:", "PartitionCostMismatch:")
"""Errors that name the first device at fault, in the order in which a Go map yields slices."""


def generate(seed: int) -> Json:
    """Return a world: slices, claims, rules, and one request for each driver."""
    chance = Random(seed)
    world: Json = {"slices": [], "claims": [], "rules": [], "requests": []}
    for driver in DRIVERS:
        for index in range(chance.randint(0, 4)):
            world["slices"] += pool(chance, driver, f"pool-{index}")
        spec: Json = {"driver": driver}
        if chance.random() < 0.5:
            spec["defaultPartitionTypeAttribute"] = ATTRIBUTE
        if chance.random() < 0.2:
            spec["poolName"] = "pool-1"
        world["requests"].append({"metadata": {"name": driver}, "spec": spec})
    published = [
        (one["spec"]["driver"], one["spec"]["pool"]["name"], device)
        for one in world["slices"]
        for device in one["spec"].get("devices", ())
    ]
    if published:
        for index in range(chance.randint(0, 12)):
            world["claims"].append(claim(chance, index, published))
        world["rules"] = [rule(chance, index, published) for index in range(chance.randint(0, 2))]
    return world


def pool(chance: Random, driver: str, name: str) -> list[Json]:
    """Return the slices of a pool, some missing, some of an older generation, some invalid."""
    newest, count = chance.randint(1, 3), chance.randint(1, 3)
    shape = chance.choice(("plain", "plain", "counters", "shares"))
    count += shape == "counters"  # the API wants counters in a slice of their own
    found = []
    for index in range(count):
        for generation in {newest, chance.choice((newest, newest, newest - 1))}:
            if chance.random() < 0.06:
                continue
            found.append(a_slice(chance, (driver, name, generation), index, count, shape))
    return found


def a_slice(
    chance: Random, where: tuple[str, str, int], index: int, count: int, shape: str
) -> Json:
    """Return a slice; the first one of a pool with counters publishes those."""
    driver, name, generation = where
    full = f"{driver}-{name}-{generation}-{index}"
    spec: Json = {
        "driver": driver,
        "pool": {"name": name, "generation": generation, "resourceSliceCount": count},
    }
    if chance.random() < 0.9:
        spec["nodeName"] = "node-2" if chance.random() < 0.05 else "node-1"
    else:
        spec["allNodes"] = True
    if shape == "counters" and (index == 0 or chance.random() < 0.05):
        counters = {"memory": {"value": f"{chance.randint(1, 8)}Gi"}, "units": {"value": "7"}}
        spec["sharedCounters"] = [{"name": "set", "counters": counters}]
    if shape == "counters" and chance.random() < 0.4:
        spec["partitionTypeAttribute"] = ATTRIBUTE
    if "sharedCounters" in spec:
        spec["devices"] = []
        return {"metadata": {"name": full, "uid": f"uid-{full}"}, "spec": spec}
    spec["devices"] = [
        device(chance, f"gpu-{index}-{number}", shape) for number in range(chance.randint(0, 4))
    ]
    if spec["devices"] and chance.random() < 0.03:
        spec["devices"].append(dict(spec["devices"][0]))
    return {"metadata": {"name": full, "uid": f"uid-{full}"}, "spec": spec}


def device(chance: Random, name: str, shape: str) -> Json:
    """Return a device of a shape: plain, a partition, or one that can be shared."""
    found: Json = {"name": name}
    if chance.random() < 0.2:
        effect = chance.choice(EFFECTS)
        found["taints"] = [{"key": "k", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}]
    if shape == "counters" and chance.random() < 0.9:
        profile = chance.choice(("1g", "2g"))
        cost = {"1g": "1Gi", "2g": "2Gi"}[profile] if chance.random() < 0.95 else "3Gi"
        known = "set" if chance.random() < 0.98 else "unknown"
        used = {"memory": {"value": cost}, "units": {"value": profile[0]}}
        found["consumesCounters"] = [{"counterSet": known, "counters": used}]
        if chance.random() < 0.95:
            key = chance.choice((ATTRIBUTE, "profile"))
            found["attributes"] = {key: {"string": profile}}
    if shape == "shares":
        found["allowMultipleAllocations"] = chance.random() < 0.7
        found["capacity"] = {spelled(chance): {"value": f"{chance.randint(1, 80)}Gi"}}
    return found


def spelled(chance: Random, driver: str = "") -> str:
    """Return a name of a capacity, sometimes with the domain of its driver or of another one."""
    return f"{driver or chance.choice(DRIVERS)}/memory" if chance.random() < 0.2 else "memory"


def claim(chance: Random, index: int, published: list[tuple[str, str, Json]]) -> Json:
    """Return an allocated claim: some with admin access, shares, or devices that are gone."""
    results = []
    for driver, name, found in chance.sample(published, min(len(published), chance.randint(1, 2))):
        gone = chance.random() < 0.05
        result: Json = {"request": "r", "driver": driver, "pool": name, "device": found["name"]}
        if gone:
            result["device"] = "gone"
        if chance.random() < 0.1:
            result["adminAccess"] = True
        if not gone and (found.get("allowMultipleAllocations") or chance.random() < 0.02):
            result["shareID"] = "5f1b0bd5-1cc4-4a64-8b24-5a3b5c2a9a3e"
            result["consumedCapacity"] = {spelled(chance, driver): f"{chance.randint(1, 4)}Gi"}
        results.append(result)
    metadata = {"name": f"claim-{index}", "namespace": "default", "uid": f"claim-{index}"}
    status: Json = {"allocation": {"devices": {"results": results}}}
    if chance.random() < 0.1:
        status = {}
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    return {"metadata": metadata, "spec": spec, "status": status}


def rule(chance: Random, index: int, published: list[tuple[str, str, Json]]) -> Json:
    """Return a DeviceTaintRule."""
    driver, name, found = chance.choice(published)
    whole = {"driver": driver, "pool": name, "device": found["name"]}
    kept = {key: value for key, value in whole.items() if chance.random() < 0.8}
    selector = {"deviceSelector": kept} if chance.random() < 0.9 else {}
    taint = {"key": "k", "effect": chance.choice(EFFECTS), "timeAdded": "2026-01-01T00:00:00Z"}
    return {"metadata": {"name": f"rule-{index}"}, "spec": {**selector, "taint": taint}}


def ours(world: Json, request: Json) -> list[Json]:
    """Return dragoman's answer."""
    spec = request["spec"]
    facts = PoolFacts(
        slices=[
            parse_slice(one)
            for one in world["slices"]
            if one["spec"]["driver"] == spec["driver"]
            and spec.get("poolName") in (None, one["spec"]["pool"]["name"])
        ],
        devices=[one for item in world["claims"] for one in Claim.parse(item).devices],
        rules=[parse_taint_rule(one) for one in world["rules"]],
    )
    return pool_statuses(facts, attribute=spec.get("defaultPartitionTypeAttribute"))


def differences(world: Json, found: list[Json], theirs: list[Json], kubernetes: str) -> list[str]:
    """Return where dragoman's answer differs from the stock controller's, known faults aside."""
    if [one["poolName"] for one in found] != [one["poolName"] for one in theirs]:
        return [f"pools: {found} {theirs}"]
    said = []
    for mine, other in zip(found, theirs, strict=True):
        expected = corrected(world, mine, other, kubernetes)
        said += [
            f"{mine['driver']}/{mine['poolName']} {key}: {mine.get(key)!r}, not {value!r}"
            for key, value in {**dict.fromkeys(mine), **expected}.items()
            if mine.get(key) != value
        ]
    return said


def corrected(world: Json, mine: Json, theirs: Json, kubernetes: str) -> Json:
    """Return the stock controller's answer for a pool without the faults P4 to P6 and P8."""
    expected = dict(theirs)
    if "totalDevices" not in theirs:
        return expected
    slices = [
        one["spec"]
        for one in world["slices"]
        if one["spec"]["driver"] == mine["driver"]
        and one["spec"]["pool"]["name"] == mine["poolName"]
        and one["spec"]["pool"]["generation"] == mine["generation"]
    ]
    devices = [one for spec in slices for one in spec["devices"]]
    held = used(world, mine)
    # P4, P5: devices that are tainted and allocated, or gone and allocated, are subtracted once.
    expected["availableDevices"] = sum(
        one["name"] not in held and not is_tainted(world, mine, one) for one in devices
    )
    names = [one["name"] for one in devices]
    sets = {one["name"] for spec in slices for one in spec.get("sharedCounters", ())}
    wanted = {one["counterSet"] for found in devices for one in found.get("consumesCounters", ())}
    twice = sum(len(spec.get("sharedCounters", ())) for spec in slices) > len(sets)
    invalid = len(set(names)) < len(names) or not wanted <= sets or twice
    if invalid:
        # P6: the scheduler ignores the whole pool.
        assert mine.get("validationError", "").startswith("PoolInvalid: "), mine
        expected["validationError"] = mine["validationError"]
        expected.pop("partitionSummary", None)
        if "shareableSummary" in expected:  # a device that is published twice counts once
            expected["shareableSummary"] = mine["shareableSummary"]
    shareable = {one["name"] for one in devices if one.get("allowMultipleAllocations")}
    exclusive = any(one not in shareable for one, amount in held.items() if amount)
    consumed = consumed_names(world, mine)
    mixed = {"memory", f"{mine['driver']}/memory"} <= consumed
    other = kubernetes == "1.37" and not consumed <= {
        name for one in devices for name in one.get("capacity", ())
    }
    if "shareableSummary" in expected and (exclusive or mixed or other):
        # P8: consumed capacity of exclusive devices enters the view of shares. Of a capacity that
        # claims consume under both names, 1.38 counts one; 1.37 needs the name that is published.
        capacity = mine["shareableSummary"]["capacity"]
        expected["shareableSummary"] = {**expected["shareableSummary"], "capacity": capacity}
    return expected


def used(world: Json, pool_status: Json) -> dict[str, bool]:
    """Return the allocated devices of a pool, and whether any share of them has an amount."""
    found: dict[str, bool] = {}
    for item in world["claims"]:
        for one in item["status"].get("allocation", {}).get("devices", {}).get("results", ()):
            where = (one["driver"], one["pool"], bool(one.get("adminAccess")))
            if where == (pool_status["driver"], pool_status["poolName"], False):
                amount = bool(one.get("consumedCapacity"))
                found[one["device"]] = found.get(one["device"], False) or amount
    return found


def consumed_names(world: Json, pool_status: Json) -> set[str]:
    """Return the names under which claims consume capacity of a pool."""
    return {
        name
        for item in world["claims"]
        for one in item["status"].get("allocation", {}).get("devices", {}).get("results", ())
        if (one["driver"], one["pool"]) == (pool_status["driver"], pool_status["poolName"])
        for name in one.get("consumedCapacity", ())
    }


def is_tainted(world: Json, pool_status: Json, found: Json) -> bool:
    """Whether claims without tolerations do not get a device."""
    effects = {one["effect"] for one in found.get("taints", ())}
    place = {"driver": pool_status["driver"], "pool": pool_status["poolName"]}
    place["device"] = found["name"]
    for one in world["rules"]:
        selector = one["spec"].get("deviceSelector")
        if selector is not None and selector.items() <= place.items():
            effects.add(one["spec"]["taint"]["effect"])
    return bool(effects & {"NoSchedule", "NoExecute"})
