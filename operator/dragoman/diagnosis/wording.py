"""Reasons in words: what devices and pools of one group of nodes lack, with numbers and names."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from dragoman.allocation import Code, Reason
from dragoman.diagnosis.filters import AFFINITY, TAINT, TOO_MANY, UNSCHEDULABLE, Lack
from dragoman.inventory.ages import age
from dragoman.inventory.inventory import UNSEEN, Inventory
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.inventory.usage.summary import holder_names
from dragoman_base import words as phrases

NANOS = 10**9
"""Amounts of nodes are counted in these parts of a unit."""
CONDITIONS: Mapping[str, str] = {
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "does not answer",
    "node.kubernetes.io/unschedulable": "cordoned",
    "node.kubernetes.io/out-of-service": "out of service",
    "node.kubernetes.io/memory-pressure": "short of memory",
    "node.kubernetes.io/disk-pressure": "short of disk space",
    "node.kubernetes.io/pid-pressure": "short of process IDs",
    "node.kubernetes.io/network-unavailable": "without a network",
    "node.cloudprovider.kubernetes.io/uninitialized": "not initialized by its cloud provider",
}
"""What the taints of Kubernetes itself say of a node; they go when it is well."""
NAMES = 3
"""Names that one line lists of a kind."""


def of_devices(inventory: Inventory, found: list[Reason]) -> str:
    """Say what devices lack that lack the same."""
    return _WORDS.get(found[0].code, _generic)(inventory, found)


def _rejected(_: Inventory, found: list[Reason]) -> str:
    origin = str(found[0].details.get("origin") or "")
    whose = origin if origin.startswith("class ") else f"request {found[0].request}"
    return f"selector of {whose} is false: {values(found) or f'{len(found)} devices'}"


def values(found: Iterable[Reason]) -> str:
    """Name the values that selectors have read: `productName is A100 (12), L4 (4)`."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for reason in found:
        for name, value in (reason.details.get("values") or {}).items():
            counts[name.rpartition(".")[2]][value_text(value)] += 1
    return "; ".join(
        f"{name} is {shortened(f'{value} ({many})' for value, many in counted.most_common())}"
        for name, counted in sorted(counts.items())
    )


def value_text(value: object) -> str:
    """Return the value of an attribute in one line."""
    if value is None:
        return "not set"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\n", "\\n")


def _in_use(inventory: Inventory, found: list[Reason]) -> str:
    return f"in use: {holders_text(inventory, found)}{_also_tainted(found)}"


def _also_tainted(found: list[Reason]) -> str:
    taints = [one for one in found[0].details.get("taints") or () if not _reserves(one)]
    return f", and tainted {listed(taints)}" if taints else ""


def _reserves(taint: str) -> bool:
    return taint.startswith(f"{PREEMPTION}=")


def holders_text(inventory: Inventory, found: Iterable[Reason]) -> str:
    """Say who has devices: `6 by ml/trainer-0, 2 by web/render (has ended)`."""
    counts: Counter[str] = Counter()
    for one in found:
        device = inventory.devices.get(one.device) if one.device else None
        owned = device.owned if device else ()
        names = {name for held in owned for name in holder_names(held)}
        # One by one: Counter.update takes three times as long for a name or two.
        for name in names or {f"claim {name}" for name in one.details.get("holders") or ()}:
            counts[name] += 1
    return shortened(
        f"{count} by {name}{_state(inventory, name)}" for name, count in counts.most_common()
    )


def _state(inventory: Inventory, name: str) -> str:
    """Say of a pod that holds devices that it does not run to an end of its own."""
    pod = inventory.world.pods.get(name)
    if pod is None:
        return ""
    if pod.pod.done:
        return " (has ended)"
    return " (being deleted)" if pod.pod.metadata.deleting else ""


def _tainted(inventory: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    if details.get("key") == PREEMPTION:
        device = inventory.devices.get(found[0].device) if found[0].device else None
        return f"{len(found)} reserved for {device.reserved if device else UNSEEN}"
    return f"{len(found)} tainted {listed(details.get('taints') or ())}"


def _cel_error(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    where = f"selectors[{details.get('index')}] of {details.get('origin')}"
    return f"{where} fails on {len(found)}: {details.get('message')}"


def _generic(_: Inventory, found: list[Reason]) -> str:
    return f"{len(found)}: {words(found[0])}"


def words(reason: Reason) -> str:
    """Return the text of a reason without the device that it is about."""
    return str(reason._replace(device=None, pool=None))


def unready_text(reason: Reason) -> str:
    """Name the claim and the device of a claim that a pod waits for, and why."""
    return f"claim {reason.claim.rpartition('/')[2]}, {reason}"


def _counters(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    return (
        f"{len(found)} without counters: {details.get('set')}/{details.get('counter')} "
        f"has {details.get('free')} of {details.get('need')}{_also_tainted(found)}"
    )


def _capacity(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    name = str(details.get("capacity")).rpartition("/")[2]
    free, wanted = details.get("free"), details.get("rounded")
    return (
        f"{len(found)} with too little {name}: {free} free, {wanted} wanted{_also_tainted(found)}"
    )


def broken_pools(inventory: Inventory, found: list[Reason]) -> str:
    """Name pools that do not count, and why."""
    pools = list(dict.fromkeys(one.pool for one in found if one.pool is not None))
    many, verb = ("pool", "is") if len(pools) == 1 else ("pools", "are")
    listed = shortened(map(str, pools))
    details = found[0].details
    if found[0].code is Code.POOL_INVALID:
        return f"{many} {listed} {verb} invalid: {details.get('reason')}"
    if found[0].code is Code.POOL_OBSOLETE:
        return f"{many} {listed} {verb} of generation {details.get('generation')}, newer exist"
    known = [inventory.pools[key].since for key in pools if key in inventory.pools]
    since = age(inventory.world.now, min(known, default=""))
    return (
        f"{many} {listed} {verb} incomplete: "
        f"{details.get('have')} of {details.get('want')} slices, {since}"
    )


def node_lacks(found: Iterable[Lack], *, numbers: bool = True) -> Iterator[str]:
    """Yield why the scheduler leaves nodes out that lack the same, with what the best has."""
    best: dict[tuple[str, str], Lack] = {}
    for one in found:
        known = best.setdefault((one.message, one.what), one)
        if (one.most, one.free) > (known.most, known.free):
            best[one.message, one.what] = one
    yield from dict.fromkeys(_node_lack(one, numbers=numbers) for one in best.values())


def _node_lack(one: Lack, *, numbers: bool) -> str:
    if one.message == UNSCHEDULABLE:
        return "cordoned"
    if one.message == TAINT:
        key = one.what.rpartition(":")[0].partition("=")[0]
        return CONDITIONS.get(key) or f"taint {one.what}, which needs a toleration in the pod"
    if one.message == AFFINITY:
        return f"does not match {one.what}"
    if not (numbers and one.wanted):
        return f"{one.what} is short" if one.wanted else one.message
    if one.message == TOO_MANY:
        return f"no room for one pod more (it may run {amount_text(one.most)})"
    wanted = f"{amount_text(one.wanted)} wanted"
    if one.wanted > one.most:
        return f"{one.what} is short ({wanted}, the node has {amount_text(one.most)})"
    return f"{one.what} is short ({wanted}, {amount_text(one.free)} free)"


def amount_text(nanos: int) -> str:
    """Write an amount of a resource of nodes, in parts of 10^-9, as Kubernetes does."""
    whole, rest = divmod(nanos, NANOS)
    if rest:
        return f"{nanos * 1000 // NANOS}m"
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20)):
        if whole >= size and whole % size == 0:
            return f"{whole // size}{unit}"
    return str(whole)


def listed(parts: Iterable[str]) -> str:
    """Join names with commas and "and"; say of long lists how many more there are."""
    names = list(parts)
    if len(names) > NAMES:
        return shortened(names)
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def are(count: int) -> str:
    """Return the verb for a number of things."""
    return "is" if count == 1 else "are"


def have(count: int) -> str:
    """Return the verb for what a number of things have."""
    return "has" if count == 1 else "have"


def shortened(parts: Iterable[str]) -> str:
    """Join the first parts, and say how many more there are."""
    return phrases.listed(parts, NAMES)


_WORDS: Mapping[Code, Callable[[Inventory, list[Reason]], str]] = {
    Code.SELECTOR_REJECTED: _rejected,
    Code.CEL_ERROR: _cel_error,
    Code.DEVICE_IN_USE: _in_use,
    Code.CAPACITY_EXCEEDED: _capacity,
    Code.COUNTERS_EXCEEDED: _counters,
    Code.TAINT_NOT_TOLERATED: _tainted,
}
