"""`kubectl dra preempt`: ends pods of lower priority so that a pod gets its devices."""

import sys

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import answering, filename_option
from dragoman_toolkit.dra.cluster.source import Source

_EXAMPLES = """\
\b
Examples:
  kubectl dra preempt ml/train-0 --dry-run
  kubectl dra preempt job/train -n ml --dry-run # for the first of its pods that wait
  kubectl dra preempt train-0 -n ml --dry-run -o json
  kubectl dra preempt -f train.yaml --priority 100 --dry-run # for the pods of manifests
  kubectl dra preempt ml/train-0 --dry-run --snapshot cluster.jsonl
  kubectl dra preempt ml/train-0 --dry-run --protect web --protect kube-system
  kubectl dra preempt ml/train-0                # reserves, evicts, and waits for the place; asks
  kubectl dra preempt ml/train-0 --abort        # stops it, and releases its devices

\b
Exit status:
  0  a plan exists, or none is needed; without --dry-run: the pod has a node
  1  no plan: no node can be made to fit, or the pod cannot preempt
  2  cannot tell: bad input, missing permissions, an old snapshot, a search that is too large
  3  the plan did not hold, or the pod got no node in time
"""


@click.command(epilog=_EXAMPLES)
@click.argument("words", metavar="[[KIND] NAME]", nargs=-1, shell_complete=completion.subjects)
@filename_option("Plan for the pods of manifests as if they were applied; with --dry-run.")
@click.option(
    "--priority",
    type=int,
    default=None,
    metavar="N",
    help="With -f: the pod's priority, which the API server reads from its PriorityClass.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@click.option(
    "-y", "--yes", is_flag=True, help="Do not ask for confirmation before pods are evicted."
)
@click.option(
    "--abort",
    is_flag=True,
    help="Stop the preemption for the pod: evict no further pod, and release reserved devices.",
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
@answering
def preempt(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    words: tuple[str, ...],
    filenames: tuple[str, ...],
    priority: int | None,
    dry_run: bool,  # noqa: FBT001 — click passes by name
    yes: bool,  # noqa: FBT001 — as above
    abort: bool,  # noqa: FBT001 — as above
    max_victims: int,
    min_gap: int,
    protected: tuple[str, ...],
    opted_in: bool,  # noqa: FBT001 — as above
    timeout: float,
    output: str,
) -> None:
    """End pods of lower priority so that a pod gets its devices, or say which with --dry-run.

    A name alone is a pod's; a workload, as `job/train`, stands for its first pod that waits.

    Victims and nodes are those that kube-scheduler's default preemption would choose if it counted
    devices. PodDisruptionBudgets are always respected. DaemonSet and mirror pods, members of
    PodGroups and pods with the annotation dragoman.dev/preemptible: "false" never end for another.

    Without --dry-run the devices are reserved by DeviceTaintRules that only the pod's claims
    tolerate, the pods are evicted, and kube-scheduler places the pod. A preemption that the
    operator has begun is followed. The command needs DevicePreemptions, in which it records what it
    does, and permission to write them; where the chart's admission policy leaves that to the
    operator, use preemption.mode=on.
    """
    if abort and (dry_run or yes):
        raise click.UsageError("--abort goes with neither --dry-run nor --yes")
    if bool(filenames) == bool(words):
        raise click.UsageError("give either a pod or a workload, as `job/train`, or -f FILE")
    if priority is not None and not filenames:
        raise click.UsageError("--priority belongs to -f")
    if filenames and not dry_run:
        raise click.UsageError("-f FILE: nothing ends for a pod that does not exist: add --dry-run")
    if source.snapshot and not dry_run:
        raise click.UsageError("a snapshot cannot be changed: add --dry-run for the plan")
    from dragoman_toolkit.dra.preemption import acting  # noqa: PLC0415 — heavy, not for --help

    policy = acting.policy(min_gap, max_victims, protected, opted_in=opted_in)
    if filenames:
        sys.exit(acting.print_plans(source, filenames, policy, timeout, output, priority=priority))
    namespace, name = acting.one_pod(source, words)
    command = acting.Command(source, namespace, name, policy, timeout, output)
    if abort:
        sys.exit(command.abort())
    sys.exit(command.print_plan() if dry_run else command.preempt(yes=yes))
