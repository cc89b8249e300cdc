"""`kubectl dra doctor`: what is wrong in the cluster now, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.doctor.finding import ORDER, UPGRADE, Id, Severity
from dragoman_base import versions
from dragoman_toolkit.dra.cluster import watching
from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.watching import watched
from dragoman_toolkit.dra.durations import Duration

if TYPE_CHECKING:
    from dragoman_base.versions import Version
    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra doctor
  kubectl dra doctor -n ml                      # findings about objects of one namespace
  kubectl dra doctor --severity error           # only what needs to be repaired
  kubectl dra doctor --only ClaimIdle --idle-after 86400
  kubectl dra doctor --for 30s                  # what needs two readings, too
  kubectl dra doctor --only DriverRights        # dry runs as each driver: needs impersonate
  kubectl dra doctor --dry-run-pods -n ml       # quotas and webhooks that keep pods out
  kubectl dra doctor --target 1.38              # what that version does not serve any more
  kubectl dra doctor -o json | jq -r '.findings[] | select(.id == "ClaimIdle") | .object.text'

\b
Exit status:
  0  no errors
  1  at least one finding of severity error
  2  no errors were found, but something could not be read; or bad input
"""


def _target(_: click.Context, __: click.Parameter, text: str) -> Version | None:
    """Read --target; raise BadParameter naming the versions that are known."""
    try:
        return versions.target(text) if text else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=_EXAMPLES)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*map(str, Id)], case_sensitive=False),
    metavar="FINDING",
    help="Run only this rule; repeatable. docs/toolkit/doctor.md lists them.",
)
@click.option(
    "--severity",
    type=click.Choice([*map(str, ORDER)]),
    default=str(Severity.INFO),
    show_default=True,
    help="Minimum severity to show.",
)
@click.option(
    "--idle-after",
    type=click.FloatRange(0),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a claim may hold devices while no pod reserves it.",
)
@click.option(
    "--settle-after",
    type=click.FloatRange(0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long drivers may take to publish a pool, and controllers to release a claim.",
)
@click.option(
    "--for",
    "observe",
    default="0s",
    type=Duration(),
    help="Read the cluster a second time after this time, as 30s or 2m: SliceWriteStorm and "
    "SlicesMissing compare two readings.",
)
@click.option(
    "--target",
    default="",
    metavar="VERSION",
    callback=_target,
    help="Version that the cluster is upgraded to, as 1.38: find requests and drivers that use "
    "what it does not serve, and feature gates that it does not know.",
)
@click.option(
    "--audit-log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Audit log of the API server, which names the clients; with --target.",
)
@click.option(
    "--dry-run-pods",
    is_flag=True,
    help="Try with server-side dry runs whether workloads get their pods: quotas, webhooks.",
)
@watched
@connected
@output_option
def doctor(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    only: tuple[str, ...],
    severity: str,
    idle_after: float,
    settle_after: float,
    observe: float,
    target: Version | None,
    audit_log: Path | None,
    dry_run_pods: bool,  # noqa: FBT001 — click passes by name
    every: float,
    output: Output,
) -> None:
    """Find lost, idle and double-booked devices, broken pools, stuck claims, and silent drivers.

    Nothing is changed. `release` and `adopt` repair one claim each. DriverRights runs only where it
    is named: it sends dry runs as the drivers' ServiceAccounts. PodRejected runs with
    --dry-run-pods: it sends dry runs of the pods that workloads create.
    """
    from dragoman_toolkit.dra.doctor import examining  # noqa: PLC0415 — heavy, not for --help

    if audit_log and target is None:
        raise click.UsageError("--audit-log says who asks for what --target removes: give both")
    if observe and source.snapshot:
        raise click.UsageError("--for has nothing to wait for in a snapshot")
    chosen = tuple(Id(one) for one in only)
    if target is None and (early := [one for one in chosen if one in UPGRADE]):
        raise click.UsageError(f"{early[0]} judges an upgrade: name its version with --target")
    examiner = examining.Examiner(
        chosen,
        Severity(severity),
        examining.Thresholds(settle=settle_after, idle=idle_after),
        observe,
        target,
        audit_log,
        dry_run_pods or Id.POD_REJECTED in chosen,
        output == "wide",
    )
    watching.answer(source, examiner, output, every)
