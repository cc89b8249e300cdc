"""Creates the DeviceTaintRules of `kubectl dra taint`."""

from collections.abc import Iterator
from dataclasses import replace

import click

from dragoman.cli.terminal import say
from dragoman.controllers.maintenance.view import served_rules
from dragoman.controllers.maintenance.writer import Writer, WriteResult
from dragoman.kube.client import Client
from dragoman.kube.discovery import discover
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import HoldKind, HoldSelector, HoldTaint, parse_taint
from dragoman.maintenance.manifests import Origin
from dragoman.maintenance.preview import MaintenancePreview
from dragoman_base.words import counted
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.authorship import author
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.maintenance import previewing
from dragoman_toolkit.dra.maintenance.choosing import Chosen, choose, confirm, require_devices
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.missing import cannot_tell, unseen_of
from dragoman_toolkit.dra.output import Exit, Report, Unusable


def taint(source: Source, wish: WantedDevices, reason: str) -> Report:
    """Preview, ask, and create the rules.

    Args:
        source: The cluster.
        wish: The targets, and the taint among their names.
        reason: Kept on each rule.

    Raises:
        Unusable: The rules are not served, no device meets the targets, or a rule is in the way.
    """
    wanted = _wanted(wish.names)
    targets = tuple(name for name in wish.names if ":" not in name)
    chosen = choose(source, replace(wish, names=targets))
    require_devices(chosen)
    _require_rules(chosen)
    evict = EvictionMode.NOW if wanted.effect == "NoExecute" else EvictionMode.NEVER
    options = previewing.MaintenanceOptions("taint", reason, HoldKind.RULE, evict, unmanaged=True)
    facts = previewing.facts_of(chosen, options)
    _require_no_other(chosen, facts.selectors, wanted)
    found = previewing.previewed(source, chosen, facts)
    return _carry_out(source, chosen, (facts.selectors, wanted, reason), found)


def _wanted(names: tuple[str, ...]) -> HoldTaint:
    """Take the taint out of the arguments; raise click.UsageError."""
    given = [name for name in names if ":" in name]
    if len(given) != 1:
        raise click.UsageError(
            "give one taint as KEY[=VALUE]:EFFECT, such as example.com/xid=79:NoSchedule"
        )
    try:
        return parse_taint(given[0])
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _require_rules(chosen: Chosen) -> None:
    if "devicetaintrules" not in chosen.inventory.world.listed:
        raise Unusable(
            "DeviceTaintRules are not served, or you cannot list them: the feature gate "
            "DRADeviceTaintRules is off by default before Kubernetes 1.37; "
            "`kubectl dra hold` works without them"
        )


def _require_no_other(
    chosen: Chosen, selectors: tuple[HoldSelector, ...], wanted: HoldTaint
) -> None:
    """Raise Unusable where a rule of this command has another value: it would stay as it is."""
    for hold in chosen.holds:
        set_by = hold.taint
        if set_by is None or not hold.managed or hold.maintenance or hold.selector not in selectors:
            continue
        if (set_by.key, set_by.effect) == (wanted.key, wanted.effect) and set_by != wanted:
            raise Unusable(
                f"{hold} sets {set_by} already; remove it first: "
                f"kubectl dra untaint {hold.selector} {set_by.key}:{set_by.effect}-"
            )


def _carry_out(
    source: Source,
    chosen: Chosen,
    rules: tuple[tuple[HoldSelector, ...], HoldTaint, str],
    found: MaintenancePreview,
) -> Report:
    selectors, wanted, reason = rules
    lines = list(_preview(found))
    created: dict[str, bool] = {}
    if not chosen.wish.dry_run:
        if blind := cannot_tell(unseen_of(chosen.inventory.world)):
            say(f"! {blind}")
        for line in lines:
            say(line)
        confirm(len(found.devices), chosen.wish, "taint")
        created = source.call(lambda client: create(client, selectors, wanted, reason))
        lines = [
            f"devicetaintrule.resource.k8s.io/{name} {'created' if new else 'exists already'} "
            f"({wanted})"
            for name, new in created.items()
        ]
    document = {
        **notes.header(chosen.inventory.world),
        "dryRun": chosen.wish.dry_run,
        "taint": str(wanted),
        "devices": [one._asdict() for one in found.devices],
        "evicted": [*found.evicted],
        "rules": [*created],
    }
    return Report("Tainting", document, tuple(lines), Exit.CLEAR, tuple(chosen.notes()))


def _preview(found: MaintenancePreview) -> Iterator[str]:
    yield from found.lines()
    if found.evicted:
        yield (
            f"NoExecute deletes {counted(len(found.evicted), 'pod')} without asking "
            "PodDisruptionBudgets; `kubectl dra drain` asks them"
        )


async def create(
    client: Client, selectors: tuple[HoldSelector, ...], wanted: HoldTaint, reason: str
) -> dict[str, bool]:
    """Create rules; return the names with whether each is new."""
    served = await discover(client, "off")
    origin = Origin(reason, await author(client))
    writer = Writer(client, served.claims, await served_rules(client), "", origin)
    names = {}
    for selector in selectors:
        outcome = await writer.create_rule(selector, wanted)
        name = str((outcome.written or {}).get("metadata", {}).get("name", ""))
        names[name] = outcome.result is WriteResult.DONE
    return names
