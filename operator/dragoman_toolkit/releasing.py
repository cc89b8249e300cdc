"""Which objects to delete so that devices are back in service, and which are not ours to delete."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from dragoman.maintenance.holds import HOLD_TAINT, Hold, HoldKind, HoldTaint
from dragoman.maintenance.targets import Target
from dragoman.model.deviceid import DeviceID


@dataclass(frozen=True, slots=True)
class Release:
    """What a command deletes."""

    deleted: tuple[Hold, ...]  # Holds to delete
    # Other objects that keep devices of the target out of service, with the remedy
    kept: tuple[tuple[Hold, str], ...] = ()


def is_hold(hold: Hold) -> bool:
    """Whether `hold` or `drain` made an object."""
    return hold.kind is HoldKind.CLAIM or (hold.managed and hold.taint == HOLD_TAINT)


def is_taint(key: str = "", effect: str = "") -> Callable[[Hold], bool]:
    """Return whether `taint` made an object, with this key and effect where they are given."""

    def wanted(hold: Hold) -> bool:
        taint = hold.taint
        if taint is None or not hold.managed or taint == HOLD_TAINT:
            return False
        return key in ("", taint.key) and effect in ("", taint.effect)

    return wanted


def release(
    holds: Iterable[Hold],
    published: Collection[DeviceID],
    devices: Collection[DeviceID],
    targets: Iterable[Target],
    wanted: Callable[[Hold], bool] = is_hold,
) -> Release:
    """Return what to delete for a target.

    Args:
        holds: All of the cluster.
        published: All devices of the cluster.
        devices: The devices of the target.
        targets: What they were selected by; a hold of a device that is not published any more is
            found by its name.
        wanted: Which objects the command is about.
    """
    chosen, named = set(devices), [*targets]
    deleted, kept = [], []
    for hold in holds:
        covered = {device for device in published if hold.selector.covers(device)}
        if not (covered & chosen or _is_named(hold, named)):
            continue
        remedy = _remedy(hold, covered - chosen, wanted)
        if not remedy:
            deleted.append(hold)
        elif hold.keeps_away:
            kept.append((hold, remedy))
    return Release(tuple(deleted), tuple(kept))


def _is_named(hold: Hold, targets: Iterable[Target]) -> bool:
    selector = hold.selector
    return any(
        target.driver == selector.driver
        and target.pool == selector.pool
        and target.device in ("", selector.device)
        and not (target.node or target.where)
        for target in targets
        if target.pool
    )


def _remedy(hold: Hold, others: Collection[DeviceID], wanted: Callable[[Hold], bool]) -> str:
    """Return how to remove a hold that the command must not delete; empty where it may."""
    if hold.maintenance:
        return f"kubectl delete devicemaintenance {hold.maintenance}"
    if not wanted(hold):
        if is_hold(hold):
            return f"kubectl dra undrain {hold.selector}"
        if hold.managed and hold.taint:
            return f"kubectl dra untaint {hold.selector} {hold.taint.key}-"
        return f"kubectl delete devicetaintrule {hold.name}"
    if others:
        return f"kubectl dra {_undo(hold.taint)} {hold.selector} (all of its devices)"
    return ""


def _undo(taint: HoldTaint | None) -> str:
    return "undrain" if taint in (None, HOLD_TAINT) else "untaint"


def lines(found: Release) -> Iterator[str]:
    """Yield which objects keep devices out of service still, and how to remove them."""
    for hold, remedy in found.kept:
        taint = f" ({hold.taint})" if hold.taint else ""
        yield f"{hold}{taint} keeps {hold.selector} out of service: {remedy}"
