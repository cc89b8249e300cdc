"""Reasons in words: what devices and pools of one group of nodes lack, with numbers and names."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from dragoman.allocation import Code, Reason
from dragoman.inventory.ages import age
from dragoman.inventory.inventory import UNSEEN, Inventory
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.inventory.usage.summary import holder_names
from dragoman_base import words as phrases

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
    return f"in use: {holders_text(inventory, found)}"


def holders_text(inventory: Inventory, found: Iterable[Reason]) -> str:
    """Say who has devices: `6 by ml/trainer-0, 2 by web/render`."""
    counts: Counter[str] = Counter()
    for one in found:
        device = inventory.devices.get(one.device) if one.device else None
        owned = device.owned if device else ()
        names = {name for held in owned for name in holder_names(held)}
        # One by one: Counter.update takes three times as long for a name or two.
        for name in names or {f"claim {name}" for name in one.details.get("holders") or ()}:
            counts[name] += 1
    return shortened(f"{count} by {name}" for name, count in counts.most_common())


def _tainted(inventory: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    if details.get("key") == PREEMPTION:
        device = inventory.devices.get(found[0].device) if found[0].device else None
        return f"{len(found)} reserved for {device.reserved if device else UNSEEN}"
    value = f"={details['value']}" if details.get("value") else ""
    return f"{len(found)} tainted {details.get('key')}{value}:{details.get('effect')}"


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
        f"has {details.get('free')} of {details.get('need')}"
    )


def _capacity(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    name = str(details.get("capacity")).rpartition("/")[2]
    free, wanted = details.get("free"), details.get("rounded")
    return f"{len(found)} with too little {name}: {free} free, {wanted} wanted"


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


def listed(parts: Iterable[str]) -> str:
    """Join names with commas and "and"; say of long lists how many more there are."""
    names = list(parts)
    if len(names) > NAMES:
        return shortened(names)
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def are(count: int) -> str:
    """Return the verb for a number of things."""
    return "is" if count == 1 else "are"


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
