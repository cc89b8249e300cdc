"""The options about clusters, namespaces and output that commands share."""

import re
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.selection import ObjectSelection
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import FORMS, Output, OutputType

Command = Callable[..., Any]


def connected(command: Command) -> Command:
    """Add the options about clusters and namespaces; the command gets a Source first."""

    @wraps(command)
    def run(**options: Any) -> Any:
        source = Source(**{name: options.pop(name) for name in FIELDS})
        return command(source, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


class Timeout(click.ParamType[float]):
    """A duration as kubectl takes it: `5s`, `1m30s`, or a number of seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds; fail for another form."""
        if isinstance(value, float):
            return value
        if found := _DURATION.match(str(value)):
            hours, minutes, seconds, milliseconds, plain = (
                float(one or 0) for one in found.groups()
            )
            return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000 + plain
        return self.fail(f"expected a duration such as 5s or 1m30s, found {value!r}", param, ctx)


_DURATION = re.compile(
    r"^(?=.)(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?(\d+(?:\.\d+)?)?$"
)
_OPTIONS = (
    click.option(
        "--snapshot",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read this file, made by `kubectl dra snapshot`, instead of a cluster.",
    ),
    click.option(
        "-n",
        "--namespace",
        "namespace_option",
        default="",
        metavar="NAME",
        shell_complete=completion.namespaces,
        help="Namespace for names given without one; by default that of the context.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="Show objects of all namespaces."),
    click.option(
        "--context",
        metavar="NAME",
        shell_complete=completion.contexts,
        help="Context of the kubeconfig; by default its current one.",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    ),
    click.option(
        "--cluster",
        metavar="NAME",
        shell_complete=completion.clusters,
        help="Cluster of the kubeconfig; by default that of the context.",
    ),
    click.option(
        "--user",
        "auth_info",
        metavar="NAME",
        shell_complete=completion.users,
        help="User of the kubeconfig; by default that of the context.",
    ),
    click.option("-s", "--server", metavar="URL", help="API server; by default the cluster's."),
    click.option("--token", metavar="TOKEN", help="Bearer token; by default what the user has."),
    click.option("--as", "user", default="", metavar="USER", help="User to impersonate."),
    click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="Group as well."),
    click.option("--as-uid", "uid", default="", metavar="UID", help="UID of the --as user."),
    click.option(
        "--request-timeout",
        type=Timeout(),
        default="0",
        metavar="DURATION",
        help="Longest time for one request, such as 5s; 0 for 30s.",
    ),
    click.option(
        "--profile",
        "profile_option",
        default="",
        metavar="VERSION[,GATE=BOOL…]",
        help="The scheduler's version and feature gates; by default those of the server's version.",
    ),
)
FIELDS = tuple(one.name for one in fields(Source) if one.name != "quiet")
"""What the options of `connected` are called."""


def answering(command: Command) -> Command:
    """Add --timeout and the options about clusters and output, for commands that compute."""
    return timeout_option(connected(output_option(command)))


def filename_option(text: str, *, required: bool = False) -> Callable[[Command], Command]:
    """Return -f, which names manifests; the command gets them as `filenames`.

    Args:
        text: What the command does with them.
        required: Whether there is nothing else that it could answer about.
    """
    return click.option(
        "-f",
        "--filename",
        "filenames",
        multiple=True,
        required=required,
        metavar="FILE|DIR|-",
        shell_complete=completion.files,
        help=text,
    )


def selecting(command: Command) -> Command:
    """Add -l and --field-selector; the command gets one ObjectSelection as `selection`."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        selection = ObjectSelection(options.pop("selector"), options.pop("field_selector"))
        return command(*arguments, selection=selection, **options)

    for option in reversed(_SELECTORS):
        run = option(run)
    return run


_SELECTORS = (
    click.option(
        "-l",
        "--selector",
        default="",
        metavar="LABELS",
        help="Only objects with these labels, as in kubectl: `app=trainer,tier!=test`.",
    ),
    click.option(
        "--field-selector",
        default="",
        metavar="FIELDS",
        help="Only objects with these fields, as in kubectl: `spec.nodeName=node-1`.",
    ),
)


def output_option(command: Command) -> Command:
    """Add -o, --sort-by and --no-headers; the command gets one Output."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        form, sort_by = options.pop("output"), options.pop("sort_by")
        output = Output(form, sort_by=sort_by, headers=not options.pop("no_headers"))
        return command(*arguments, output=output, **options)

    for option in reversed(_OUTPUT_OPTIONS):
        run = option(run)
    return run


_OUTPUT_OPTIONS = (
    click.option(
        "-o",
        "--output",
        type=OutputType(),
        default="table",
        show_default=True,
        metavar="FORM",
        help=f"Form of the output: {', '.join(FORMS)}; keys of json and yaml are stable.",
    ),
    click.option(
        "--sort-by",
        default="",
        metavar="FIELD",
        help="Sort lists by this field of the JSON form, such as .free.",
    ),
    click.option("--no-headers", is_flag=True, help="Print tables without their header line."),
)


def timeout_option(command: Command) -> Command:
    """Add --timeout."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0.1, max=86_400.0),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="CPU time for the answer; selectors alone can take hours.",
    )(command)
