"""The words of `hold` and `drain` while they run and when they end."""

from collections.abc import Iterable, Iterator
from typing import Any

from dragoman.controllers.maintenance.drainer import DrainStep, News
from dragoman.inventory.ages import duration
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.plan import MaintenancePlan
from dragoman.maintenance.preview import listed
from dragoman.model.deviceid import DeviceID
from dragoman.model.pod import Pod
from dragoman_base.words import counted


def line(news: News, evict: EvictionMode) -> str:
    """Return one step in words."""
    after = f" after {duration(news.seconds)}" if news.seconds >= 1 else ""
    match news.step:
        case DrainStep.CREATED:
            effect = " (NoSchedule)" if "devicetaintrule" in news.subject else ""
            return f"{news.subject} created{effect}"
        case DrainStep.EXISTED:
            return f"{news.subject} exists already"
        case DrainStep.REFUSED:
            return f"{news.subject}: {news.message.rstrip('.')}; trying again"
        case DrainStep.EVICTED:
            verb = "deleted" if evict is EvictionMode.NOW else "evicted"
            return f"{news.subject}: {verb}{after}"
        case DrainStep.ENDED:
            return f"{news.subject}: ended{after}"
        case DrainStep.TOLERATES:
            return f"claim {news.subject} tolerates the taint: its pods stay"
        case DrainStep.RETURNS:
            return f"{news.subject} was placed again on a claim in use: scale its workload down"
        case DrainStep.UNMANAGED:
            return f"{news.subject} stays: no controller replaces it, and --force evicts it"
        case _:
            return f"{news.subject}: {news.message}"


def left(plan: MaintenancePlan) -> str:
    """Return what a drain still waits for."""
    parts = [f"{counted(len(plan.busy), 'device')} in use"]
    if plan.unheld:
        parts.append(f"{len(plan.unheld)} not held yet")
    if plan.pods:
        parts.append(f"pods: {listed(map(_key, plan.pods))}")
    return ", ".join(parts)


def closing(  # noqa: PLR0913 — all of it is said
    plan: MaintenancePlan | None,
    ended: str,
    *,
    done: bool,
    command: str,
    wish: str,
    flags: str = "",
) -> Iterator[str]:
    """Yield the state that a command leaves, how to continue, and how to undo it."""
    back = f"Back: kubectl dra un{command} {wish}"
    if plan is None:
        yield f"{ended or 'Stopped'} before anything was written."
        return
    if done:
        state = "idle" if plan.idle else "out of service for new claims"
        yield f"{wish} is {state}.   {back}"
        return
    yield f"{ended or 'Not finished'}: {left(plan)}."
    if plan.unheld:
        yield f"New claims can still get {listed(map(str, plan.unheld))}."
    else:
        yield "New claims cannot get the devices; they stay out of service."
    unused = [claim.key for claim in plan.claims if not claim.consumers]
    if unused:
        yield f"No pod uses {listed(unused, 'claim')}: delete it to free the device."
    yield f"Continue: kubectl dra {command} {wish}{flags}"
    yield back


def devices(plan: MaintenancePlan | None, wanted: Iterable[DeviceID]) -> list[dict[str, Any]]:
    """Return the devices for programs."""
    return [
        {
            **device._asdict(),
            "held": plan is not None and device not in plan.unheld,
            "idle": plan is not None and device not in plan.busy,
        }
        for device in wanted
    ]


def remaining(plan: MaintenancePlan | None) -> list[str]:
    """Return the pods that still use a device, for programs."""
    return sorted(map(_key, plan.pods)) if plan else []


def pods(news: Iterable[News]) -> list[dict[str, Any]]:
    """Return the outcome for each pod, as JSON."""
    found: dict[str, dict[str, Any]] = {}
    for one in news:
        if one.step in (DrainStep.REFUSED, DrainStep.EVICTED, DrainStep.ENDED):
            found[one.subject] = {
                "pod": one.subject,
                "state": str(one.step),
                "message": one.message,
                "seconds": round(one.seconds, 1),
            }
    return [*found.values()]


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
