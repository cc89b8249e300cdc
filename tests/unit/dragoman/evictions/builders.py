"""Facts for tests of evictions: one driver, pools by node, times in seconds after T0."""

from datetime import UTC, datetime
from typing import Any

from dragoman.evictions.evictionfacts import EvictionFacts
from dragoman.evictions.pools import Pools
from dragoman.evictions.rules import ActiveRules
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from tests.unit.dragoman.claims.objects import ClaimObject, PodObject, claim, pod

DRIVER = "gpu.example.com"
T0 = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
Json = dict[str, Any]


def at(after: float = 0.0) -> str:
    """Return the API timestamp of a time after T0."""
    return f"{datetime.fromtimestamp(T0 + after, UTC):%Y-%m-%dT%H:%M:%SZ}"


def taint(key: str = "broken", effect: str = "NoExecute", after: float = 0.0, **more: str) -> Json:
    """Return a taint of a device."""
    return {"key": key, "effect": effect, "timeAdded": at(after), **more}


def a_slice(
    name: str = "slice-1",
    *devices: str,
    pool: str = "node-1",
    generation: int = 1,
    count: int = 1,
    **taints: Json | list[Json],
) -> StoredSlice:
    """Return a slice; taints are given by device, `-` written as `_`."""
    found = {key.replace("_", "-"): value for key, value in taints.items()}
    names = dict.fromkeys([*devices, *found]) or {"gpu-0": None}
    items = []
    for device in names:
        given = found.get(device, [])
        items.append({"name": device, "taints": given if isinstance(given, list) else [given]})
    version = "1"
    return StoredSlice.parse(
        {
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
                "devices": items,
            },
        }
    )


def a_rule(
    name: str = "rule",
    effect: str = "NoExecute",
    *,
    selector: Json | None = None,
    after: float = 0.0,
    generation: int = 1,
    condition: Json | None = None,
) -> StoredRule:
    """Return a rule; by default it selects all devices of the driver."""
    spec: Json = {
        "deviceSelector": {"driver": DRIVER} if selector is None else selector,
        "taint": taint("rule", effect, after),
    }
    if selector == {"absent": True}:
        del spec["deviceSelector"]
    conditions = [] if condition is None else [{"type": "EvictionInProgress", **condition}]
    return StoredRule.parse(
        {
            "metadata": {"name": name, "uid": f"uid-{name}", "generation": generation},
            "spec": spec,
            "status": {"conditions": conditions},
        }
    )


def result(device: str = "gpu-0", *tolerations: Json, pool: str = "node-1", **more: Any) -> Json:
    """Return a result of an allocation."""
    return {
        "request": "gpu",
        "driver": DRIVER,
        "pool": pool,
        "device": device,
        "tolerations": list(tolerations),
        **more,
    }


def holding(made: ClaimObject, *results: Json) -> ClaimObject:
    """Return a claim with an allocation."""
    return made.changed("status", "allocation", to={"devices": {"results": list(results)}})


def pair(name: str = "a", *results: Json, namespace: str = "ns") -> tuple[PodObject, ClaimObject]:
    """Return a running pod and the claim that was generated and allocated for it."""
    user = pod(name, uid=f"uid-{namespace}-{name}", namespace=namespace).on("node-1")
    user = user.using("gpu", template="t").bound("gpu", f"{name}-gpu").in_phase("Running")
    made = claim(f"{name}-gpu", namespace=namespace).generated_for(user, "gpu").reserved_for(user)
    return user, holding(made, *(results or (result(),)))


def facts(
    *objects: PodObject | ClaimObject | StoredSlice | StoredRule, groups: bool = True
) -> EvictionFacts:
    """Return the facts of a cluster with these objects."""
    pods = [Pod.parse(one.document) for one in objects if isinstance(one, PodObject)]
    claims = [Claim.parse(one.document) for one in objects if isinstance(one, ClaimObject)]
    return EvictionFacts(
        pods=pods,
        claims={(one.metadata.namespace, one.metadata.name): one for one in claims},
        pools=Pools(one for one in objects if isinstance(one, StoredSlice)),
        rules=ActiveRules(one for one in objects if isinstance(one, StoredRule)),
        groups=groups,
    )
