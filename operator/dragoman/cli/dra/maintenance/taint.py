"""`kubectl dra taint`: taint devices by a DeviceTaintRule."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.maintenance.targeting import (
    Chosen,
    Wish,
    choose,
    confirm,
    require_devices,
    targeted,
)
from dragoman.cli.dra.missing import cannot_tell, unseen_of
from dragoman.cli.dra.output import Exit, Report, Unusable, show
from dragoman.cli.terminal import say

if TYPE_CHECKING:
    from dragoman.kube.client import Client
    from dragoman.maintenance.holds import Selector, Taint
    from dragoman.maintenance.preview import Preview

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra taint gpu.nvidia.com/node-4/gpu-3 example.com/xid=79:NoSchedule
  kubectl dra taint gpu.nvidia.com/node-4/gpu-3 example.com/xid:NoExecute --dry-run
  kubectl dra taint --node node-4 example.com/degraded:None     # only a mark
  kubectl dra untaint gpu.nvidia.com/node-4/gpu-3 example.com/xid-

\b
Exit status:
  0  the devices are tainted
  2  DeviceTaintRules are not served, no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES)
@targeted
@click.option("--reason", default="", metavar="TEXT", help="Shown by `kubectl dra holds`.")
@connected
@output_option
def taint(
    source: Source,
    wish: Wish,
    reason: str,
    output: Output,
) -> None:
    """Taint devices: kubectl dra taint TARGET… KEY[=VALUE]:EFFECT.

    The effect is NoSchedule (new claims need a toleration), NoExecute (pods are deleted as well,
    whatever their PodDisruptionBudgets allow), or None (a mark). `hold` and `drain` set the taint
    dragoman.dev/maintenance:NoSchedule themselves.
    """
    from dragoman.cli.dra.maintenance import previewing  # noqa: PLC0415 — heavy, not for --help
    from dragoman.maintenance.actions import Evict  # noqa: PLC0415 — as above
    from dragoman.maintenance.holds import Kind  # noqa: PLC0415 — as above

    wanted = _wanted(wish.names)
    targets = tuple(name for name in wish.names if ":" not in name)
    chosen = choose(source, replace(wish, names=targets))
    require_devices(chosen)
    _require_rules(chosen)
    evict = Evict.NOW if wanted.effect == "NoExecute" else Evict.NEVER
    options = previewing.Options("taint", reason, Kind.RULE, evict, unmanaged=True)
    facts = previewing.facts_of(chosen, options)
    _require_no_other(chosen, facts.selectors, wanted)
    found = previewing.previewed(source, chosen, facts)
    report = _carry_out(source, chosen, (facts.selectors, wanted, reason), found)
    show(report, output)
    sys.exit(report.status)


def _wanted(names: tuple[str, ...]) -> Taint:
    """Take the taint out of the arguments; raise click.UsageError."""
    from dragoman.maintenance.holds import parse_taint  # noqa: PLC0415 — heavy, not for --help

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


def _require_no_other(chosen: Chosen, selectors: tuple[Selector, ...], wanted: Taint) -> None:
    """Raise Unusable where a rule of this command has another value: it would stay as it is."""
    for hold in chosen.holds:
        taint = hold.taint
        if taint is None or not hold.managed or hold.maintenance or hold.selector not in selectors:
            continue
        if (taint.key, taint.effect) == (wanted.key, wanted.effect) and taint != wanted:
            raise Unusable(
                f"{hold} sets {taint} already; remove it first: "
                f"kubectl dra untaint {hold.selector} {taint.key}:{taint.effect}-"
            )


def _carry_out(
    source: Source,
    chosen: Chosen,
    rules: tuple[tuple[Selector, ...], Taint, str],
    found: Preview,
) -> Report:
    from dragoman.cli.dra import notes  # noqa: PLC0415 — heavy, not for --help

    selectors, wanted, reason = rules
    lines = list(_preview(found))
    created: dict[str, bool] = {}
    if not chosen.wish.dry_run:
        if blind := cannot_tell(unseen_of(chosen.inventory.world)):
            say(f"! {blind}")
        for line in lines:
            say(line)
        confirm(len(found.devices), chosen.wish, "taint")
        created = source.call(lambda client: _create(client, selectors, wanted, reason))
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


def _preview(found: Preview) -> Iterator[str]:
    from dragoman.words import counted  # noqa: PLC0415 — not for --help

    yield from found.lines()
    if found.evicted:
        yield (
            f"NoExecute deletes {counted(len(found.evicted), 'pod')} without asking "
            "PodDisruptionBudgets; `kubectl dra drain` asks them"
        )


async def _create(
    client: Client, selectors: tuple[Selector, ...], wanted: Taint, reason: str
) -> dict[str, bool]:
    """Create rules; return the names with whether each is new."""
    from dragoman.cli.dra.cluster.authorship import author  # noqa: PLC0415 — heavy, not for --help
    from dragoman.controllers.maintenance.view import served_rules  # noqa: PLC0415 — as above
    from dragoman.controllers.maintenance.writer import Result, Writer  # noqa: PLC0415 — as above
    from dragoman.kube.discovery import discover  # noqa: PLC0415 — as above
    from dragoman.maintenance.manifests import Origin  # noqa: PLC0415 — as above

    served = await discover(client, "off")
    origin = Origin(reason, await author(client))
    writer = Writer(client, served.claims, await served_rules(client), "", origin)
    names = {}
    for selector in selectors:
        outcome = await writer.create_rule(selector, wanted)
        name = str((outcome.written or {}).get("metadata", {}).get("name", ""))
        names[name] = outcome.result is Result.DONE
    return names
