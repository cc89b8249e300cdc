"""What `hold`, `drain` and `taint` would do, with counts and names, before they do it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import click

from dragoman.kube.client import Client, find, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS, Resource
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.budgets import DisruptionBudget, Protected, predict
from dragoman.maintenance.holds import HoldKind
from dragoman.maintenance.manifests import selectors
from dragoman.maintenance.plan import MaintenanceFacts, evictions
from dragoman.maintenance.preview import MaintenancePreview, listed, preview
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.maintenance.choosing import Chosen
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.output import Exit, Report, Unusable

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
_READ_PODS = 200
"""Pods whose PodDisruptionBudgets a preview reads."""
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class MaintenanceOptions:
    """How devices are taken out of service."""

    command: str  # `hold` or `drain`, for messages
    reason: str = ""  # In words
    kind: HoldKind | None = None  # How devices are held; None chooses rules where they are served
    evict: EvictionMode = EvictionMode.NEVER  # What happens to pods
    wait: bool = True  # Whether to wait for devices in use
    rate: float = 0.0  # Least seconds between two evictions
    timeout: float = 0.0  # Seconds to wait; 0 for no limit
    grace: int | None = None  # Seconds that evicted pods have to end; None for each pod's own
    unmanaged: bool = False  # Whether pods without a controller are evicted as well

    def flags(self) -> str:
        """Return the flags without which a drain would not go on."""
        force = " --force" if self.unmanaged else ""
        return f"{force} --disable-eviction" if self.evict is EvictionMode.NOW else force


def facts_of(chosen: Chosen, options: MaintenanceOptions) -> MaintenanceFacts:
    """Return what plans are computed from, at the time of reading."""
    listed_rules = "devicetaintrules" in chosen.inventory.world.listed
    kind = options.kind or (HoldKind.RULE if listed_rules else HoldKind.CLAIM)
    if kind is HoldKind.RULE and not listed_rules:
        raise Unusable(
            "--with=rule: DeviceTaintRules are not served, or you cannot list them; "
            "--with=claim holds devices with ResourceClaims"
        )
    ids = set(chosen.selection.ids)
    world = chosen.inventory.world
    return MaintenanceFacts(
        devices=chosen.selection.ids,
        kind=kind,
        selectors=selectors(chosen.selection.ids, _whole(chosen)),
        holds=chosen.holds,
        claims=tuple(
            one
            for one in world.claims.values()
            if not one.is_hold and any(result.id in ids for result in one.devices)
        ),
        pods={one.pod.metadata.uid: one.pod for one in world.pods.values()},
        evict=options.evict,
        unmanaged=options.unmanaged,
    )


def _whole(chosen: Chosen) -> Iterator[tuple[str, str]]:
    """Yield the pools that are meant as a whole, so that one rule suffices."""
    for target in chosen.targets:
        if target.pool and not (target.device or target.node or target.where):
            yield target.driver, target.pool


def previewed(source: Source, chosen: Chosen, facts: MaintenanceFacts) -> MaintenancePreview:
    """Return the preview; budgets are read where pods would be evicted."""
    wanted = [one.key for one in evictions(facts)]
    if source.snapshot or not wanted or len(wanted) > _READ_PODS:
        return preview(facts, chosen.selection.devices)
    pods, budgets = source.call(lambda client: _protections(client, wanted))
    refusals = predict((pods[key] for key in wanted if key in pods), budgets)
    if facts.evict is EvictionMode.NOW:
        refusals = {}
    return preview(facts, chosen.selection.devices, refusals)


async def _protections(
    client: Client, wanted: list[str]
) -> tuple[dict[str, Protected], list[DisruptionBudget]]:
    async def pod(key: str) -> Protected | None:
        namespace, _, name = key.partition("/")
        found = await find(client, PODS.path(namespace, name))
        return None if found is None else Protected.parse(found)

    async def budgets(namespace: str) -> list[DisruptionBudget]:
        try:
            return [
                DisruptionBudget.parse(item)
                async for item in items(client, BUDGETS.path(namespace))
            ]
        except ApiError as error:
            if error.code != _FORBIDDEN:
                raise
            return []

    found = await asyncio.gather(*map(pod, wanted))
    namespaces = sorted({key.partition("/")[0] for key in wanted})
    read = await asyncio.gather(*map(budgets, namespaces))
    return {one.key: one for one in found if one}, [one for part in read for one in part]


def dry_run(
    chosen: Chosen, found: MaintenancePreview, facts: MaintenanceFacts, command: str
) -> Report:
    """Return what a command would do, without doing it."""
    refusals = {key: why for key, why in (found.refusals or {}).items() if why}
    refusals |= dict.fromkeys(found.spared, "no controller replaces it: --force evicts it")
    blocked = bool(refusals or found.unused)
    document = {
        **notes.header(chosen.inventory.world),
        "dryRun": True,
        "with": str(facts.kind),
        "devices": [
            {**one._asdict(), "held": one in found.held, "idle": one not in found.used}
            for one in found.devices
        ],
        "claims": [*found.claims],
        "pods": [
            {"pod": key, "evict": key in found.evicted, "refusal": refusals.get(key, "")}
            for key in found.pods
        ],
        "unusedClaims": [*found.unused],
        "unmanaged": [*found.unmanaged],
        "rules": found.rules,
    }
    status = Exit.OBSTACLE if blocked and command == "drain" else Exit.CLEAR
    if chosen.inventory.world.unseen:  # a device may have users that were not seen
        status = Exit.UNKNOWN
    return Report("DrainPreview", document, tuple(found.lines()), status, tuple(chosen.notes()))


class Refused(click.ClickException):
    """A drain that would lose pods; nothing was changed."""

    exit_code = Exit.OBSTACLE


def refused(found: MaintenancePreview, wish: WantedDevices) -> Refused:
    """Return the refusal to evict pods that no controller replaces, with the ways out."""
    return Refused(
        f"nothing was changed: no controller replaces {listed(found.spared)}; "
        f"--force evicts {'it' if len(found.spared) == 1 else 'them'} for good, and "
        f"`kubectl dra hold {wish.arguments()}` keeps new claims away and leaves pods alone"
    )


def misunderstood_force(options: MaintenanceOptions, found: MaintenancePreview) -> str:
    """Tell the user of --force who expects that pods are deleted whatever budgets allow."""
    protected = any((found.refusals or {}).values())
    if (
        not options.unmanaged
        or options.evict is EvictionMode.NOW
        or (found.unmanaged and not protected)
    ):
        return ""
    return (
        "--force evicts pods without a controller, and asks PodDisruptionBudgets all the same; "
        "--disable-eviction deletes pods whatever they allow"
    )
