"""`kubectl dra preempt`: which pods would have to end so that a pod gets its devices."""

from __future__ import annotations

import sys
import time
from typing import Final

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.cluster.options import connected, output_option, timeout_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.output import Progress, Unusable, show

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra preempt ml/train-0 --dry-run
  kubectl dra preempt train-0 -n ml --dry-run -o json
  kubectl dra preempt ml/train-0 --dry-run --snapshot cluster.jsonl
  kubectl dra preempt ml/train-0 --dry-run --protect web --protect kube-system

\b
Exit status:
  0  a plan exists, or none is needed
  1  no plan: no node can be made to fit, or the pod may not preempt
  2  cannot tell: bad input, missing rights, an old snapshot, a search that is too large
"""


@click.command(epilog=_EXAMPLES)
@click.argument("pod", metavar="[NAMESPACE/]POD", shell_complete=completion.pods)
@click.option(
    "--dry-run", is_flag=True, help="Print the plan and change nothing; nothing else is offered."
)
@click.option(
    "--max-victims",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    metavar="N",
    help="Pods that may end for one pod.",
)
@click.option(
    "--min-gap",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="By how much the priority of a victim is lower at least.",
)
@click.option(
    "--protect",
    "protected",
    multiple=True,
    default=("kube-system",),
    show_default=True,
    metavar="NAMESPACE",
    shell_complete=completion.namespaces,
    help="A namespace without victims.",
)
@click.option(
    "--opted-in",
    is_flag=True,
    help='End only pods with annotation dragoman.dev/preemptible: "true", also of a namespace.',
)
@timeout_option
@connected
@output_option
def preempt(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    pod: str,
    dry_run: bool,  # noqa: FBT001 — click passes by name
    max_victims: int,
    min_gap: int,
    protected: tuple[str, ...],
    opted_in: bool,  # noqa: FBT001 — as above
    timeout: float,
    output: str,
) -> None:
    """Say which pods would have to end so that a pod gets its devices; nothing is changed.

    Victims and nodes are those that kube-scheduler's default preemption would choose if it counted
    devices. PodDisruptionBudgets are always respected. DaemonSet and mirror pods, members of
    PodGroups and pods with the annotation dragoman.dev/preemptible: "false" never end for another.
    """
    if not dry_run:
        raise click.UsageError("this command evicts nothing: add --dry-run for the plan")
    # Heavy, and not needed for --help.
    from dragoman.allocation import TimeBudget, TooExpensiveError  # noqa: PLC0415
    from dragoman.cli.dra.preemption import preempt_report, reading  # noqa: PLC0415
    from dragoman.diagnosis.explain import cluster_of  # noqa: PLC0415
    from dragoman.diagnosis.subject import of_pod  # noqa: PLC0415
    from dragoman.inventory.inventory import take  # noqa: PLC0415
    from dragoman.preemption.facts import Facts  # noqa: PLC0415
    from dragoman.preemption.planner import plan  # noqa: PLC0415
    from dragoman.preemption.policy import Policy, Select  # noqa: PLC0415

    world = source.world(reading.NEEDED)
    reading.require(world)
    key = pod if "/" in pod else f"{source.namespace}/{pod}"
    found = world.pods.get(key)
    if found is None:
        raise Unusable(f"pod {key} not found, or it has ended")
    select = Select.OPTED_IN if opted_in else Select.ALL
    policy = Policy(min_gap, max_victims, select, protected, (found.scheduler,))
    inventory = take(world, source.profile(world))
    try:
        with Progress() as progress, TimeBudget(timeout, clock=time.thread_time):
            made = plan(
                Facts.of(world),
                of_pod(world, found),
                cluster_of(inventory),
                policy=policy,
                progress=progress,
            )
    except TooExpensiveError:
        raise Unusable(f"took more than {timeout:g} s; --timeout gives more") from None
    report = preempt_report.report(world, made)
    show(report, output)
    sys.exit(report.status)
