"""`kubectl dra migrate`: from device plug-ins to DRA."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import hoisted
from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import (
    connected,
    filename_option,
    output_option,
    selecting,
)
from dragoman_toolkit.dra.output import Unusable, show

if TYPE_CHECKING:
    from dragoman_toolkit.dra.cluster.options import Command
    from dragoman_toolkit.dra.cluster.selection import ObjectSelection
    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra migrate report                      # what would be lost, by resource and workload
  kubectl dra migrate report -f deployment.yaml   # of workloads that do not run yet
  kubectl dra migrate classes | kubectl apply --dry-run=server -f -
  kubectl dra migrate plan                        # what to do, node by node
  kubectl dra migrate convert -f deployment.yaml --claims

\b
Exit status:
  0  everything runs unchanged; every resource has a class; every node can move
  1  something does not run, needs a change, or is lost
  2  something could not be read, or bad input
"""


class _Commands(click.Group):
    """Takes options of all commands before its own commands as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, hoisted(args))


@click.group(cls=_Commands, epilog=_EXAMPLES)
def migrate() -> None:
    """Plan the way from device plug-ins to DRA. Nothing is written to the cluster.

    A DeviceClass with extendedResourceName serves `limits: {nvidia.com/gpu: 1}` without a change
    of the pod (KEP-5004): on by default since Kubernetes 1.36.
    """


def _asking(command: Command) -> Command:
    """Add what all commands share; they get a Source and `options`, of an `answers.Question`."""

    @wraps(command)
    def run(source: Source, target: str, gates: str, **options: Any) -> Any:
        if target or gates:
            profile = ",".join(filter(None, (target, gates)))
            if source.profile_option:
                raise click.UsageError("--target and --gates stand for --profile: give one of both")
            source = replace(source, profile_option=profile if target else f",{gates}")
        asked = {name: options.pop(name) for name in ("mapped", "only", "configs")}
        return command(source, asked, **options)

    made: Command = run
    for option in (
        click.option(
            "--gates",
            default="",
            metavar="GATE=BOOL[,…]",
            help="Feature gates to judge for, such as DRAExtendedResource=true.",
        ),
        click.option(
            "--target",
            default="",
            metavar="VERSION",
            help="Version of Kubernetes to judge for, such as 1.36; that of the server without.",
        ),
        click.option(
            "--plugin-config",
            "configs",
            multiple=True,
            metavar="FILE[@LABEL=VALUE]",
            shell_complete=completion.files,
            help="Config of a device plug-in, or an object with one, of all nodes or of those with "
            "a label.",
        ),
        click.option(
            "--map",
            "mapped",
            multiple=True,
            metavar="RESOURCE=CLASS",
            help="The class that serves a resource which is not known here.",
        ),
        click.option(
            "--resource",
            "only",
            multiple=True,
            metavar="NAME",
            help="Answer about this extended resource only, such as nvidia.com/gpu.",
        ),
    ):
        made = option(made)
    return made


_REPORT_EXAMPLES = """\
\b
Examples:
  kubectl dra migrate report
  kubectl dra migrate report --resource nvidia.com/gpu -o wide
  kubectl dra migrate report -n ml -f job.yaml
  kubectl dra migrate report --target 1.35 --gates DRAExtendedResource=true
  kubectl dra migrate report --plugin-config time-slicing.yaml@pool=shared
  kubectl dra migrate report --snapshot cluster.jsonl -o json

\b
Exit status:
  0  everything runs unchanged, and no behavior is lost that users rely on
  1  something does not run, needs a change, or is lost
  2  something could not be read, or bad input
"""


@migrate.command(epilog=_REPORT_EXAMPLES)
@filename_option("Report of these workloads, in files or folders; - for standard input.")
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME",
    help="A scheduler of pods that is kube-scheduler under another name.",
)
@selecting
@connected
@_asking
@output_option
def report(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    asked: dict[str, Any],
    filenames: tuple[str, ...],
    schedulers: tuple[str, ...],
    selection: ObjectSelection,
    output: Output,
) -> None:
    """Say what would be lost by moving from device plug-ins to DRA.

    NOW is what pods can get of a resource today, THEN how many devices its class selects, or will
    select once the driver publishes them. A workload runs `unchanged`, needs a `change` that this
    command prints, is `blocked`, or is `done`.
    """
    from dragoman_toolkit.dra.migration import answers  # noqa: PLC0415 — heavy, not for --help

    question = answers.Question(filenames, schedulers, **asked, selection=selection)
    answer = answers.report(source, question, wide=output == "wide")
    show(answer, output)
    sys.exit(answer.status)


_CLASSES_EXAMPLES = """\
\b
Examples:
  kubectl dra migrate classes
  kubectl dra migrate classes nvidia.com/gpu
  kubectl dra migrate classes | kubectl apply -f -

\b
Exit status:
  0  every resource that pods ask for has a class, or gets one
  1  a resource that pods ask for gets no class
  2  something could not be read, or bad input
"""


@migrate.command(epilog=_CLASSES_EXAMPLES)
@click.argument("resources", nargs=-1, metavar="[RESOURCE…]")
@connected
@_asking
def classes(source: Source, asked: dict[str, Any], resources: tuple[str, ...]) -> None:
    """Print the DeviceClasses that serve resources of device plug-ins, as YAML for kubectl apply.

    A class that selects no device of a driver that publishes some is commented out. Standard error
    says which resources get no class, and why.
    """
    from dragoman_toolkit.dra.migration import answers  # noqa: PLC0415 — heavy, not for --help

    question = answers.Question(**{**asked, "only": (*resources, *asked["only"])})
    status = answers.classes(source, question)
    sys.exit(status)


_PLAN_EXAMPLES = """\
\b
Examples:
  kubectl dra migrate plan                          # nodes alike together; -o wide: every step
  kubectl dra migrate plan node-1 node-2 --batch 2  # every step of these
  kubectl dra migrate plan --output-dir migration   # classes, values and steps as files
  kubectl dra migrate plan --back node-1            # the way back to the device plug-in

\b
Exit status:
  0  every node can move, or has moved
  1  something stops a node: a pod that nothing makes again, or a PodDisruptionBudget
  2  something could not be read, or bad input
"""


@migrate.command(epilog=_PLAN_EXAMPLES)
@click.argument("nodes", nargs=-1, metavar="[NODE…]", shell_complete=completion.nodes)
@click.option("--back", is_flag=True, help="Plan the way back to the device plug-ins.")
@click.option(
    "--batch",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="COUNT",
    help="How many nodes move at once.",
)
@click.option(
    "--delete-unmanaged",
    "unmanaged",
    is_flag=True,
    help="Delete pods that no controller makes again, as `kubectl drain --force` does.",
)
@click.option("--all", "done", is_flag=True, help="List nodes that are done as well.")
@click.option(
    "--output-dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write classes, Helm values, the plan and its steps into this folder.",
)
@click.option("--force", is_flag=True, help="Replace files that have other content.")
@selecting
@connected
@_asking
@output_option
def plan(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    asked: dict[str, Any],
    nodes: tuple[str, ...],
    back: bool,  # noqa: FBT001 — click passes it by name
    batch: int,
    unmanaged: bool,  # noqa: FBT001
    done: bool,  # noqa: FBT001
    folder: Path | None,
    force: bool,  # noqa: FBT001
    selection: ObjectSelection,
    output: Output,
) -> None:
    """Print the steps that move nodes to DRA, or back, one after the other.

    Nodes that are alike are listed together. Every step with its command is printed of nodes that
    are named, and with -o wide.

    At no moment has a node two sources of one resource: its label dragoman.dev/device-source is
    `none` between `plugin` and `dra`. Nothing is remembered elsewhere: ask again at any time, and
    the plan shows what is left.
    """
    from dragoman_toolkit.dra.migration import answers, planning  # noqa: PLC0415 — heavy, not for --help
    from dragoman_toolkit.migration.plan import Wanted  # noqa: PLC0415 — heavy, not for --help

    if selection:
        found = source.selected("nodes", selection)
        nodes = tuple(one for one in found if not nodes or one in nodes)
        if not nodes:
            raise Unusable("no node has these labels and fields")
    answer = planning.report(
        source,
        answers.Question(**asked),
        Wanted(back, frozenset(nodes), batch, unmanaged),
        done=done,
        files=planning.Files(folder, force),
        wide=output == "wide",
    )
    show(answer, output)
    sys.exit(answer.status)


_CONVERT_EXAMPLES = """\
\b
Examples:
  kubectl dra migrate convert -f deployment.yaml > converted.yaml
  kubectl dra migrate convert -f manifests/ --claims        # although classes serve limits
  helm template chart | kubectl dra migrate convert -f - --snapshot cluster.jsonl

\b
Exit status:
  0  every extended resource is a claim now
  1  some stay as they are; standard error says why
  2  something could not be read, or bad input
"""


@migrate.command(epilog=_CONVERT_EXAMPLES)
@filename_option(
    "Convert the workloads of these files or folders; - for standard input.", required=True
)
@click.option(
    "--claims", "always", is_flag=True, help="Convert although classes serve limits here."
)
@click.option(
    "--selectors",
    is_flag=True,
    help="Turn nodeSelectors for nvidia.com/gpu.product into selectors of devices.",
)
@connected
@_asking
def convert(
    source: Source,
    asked: dict[str, Any],
    filenames: tuple[str, ...],
    always: bool,  # noqa: FBT001
    selectors: bool,  # noqa: FBT001
) -> None:
    """Print manifests with claims in place of limits on extended resources.

    For clusters that do not serve extended resources by classes: before Kubernetes 1.36, or with
    DRAExtendedResource off. Order and comments stay, and what asks for no devices stays as it is.
    """
    from dragoman_toolkit.dra.migration import answers, converting  # noqa: PLC0415 — heavy, not for --help

    question = answers.Question(filenames, **asked)
    sys.exit(converting.convert(source, question, always=always, selectors=selectors))
