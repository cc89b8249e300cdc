"""The options about clusters, namespaces and output that commands share."""

from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from dragoman.kube.connectionoptions import FLAG, FLAGS, ConnectionOptions, Flag
from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.selection import ObjectSelection
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.durations import Duration
from dragoman_toolkit.dra.formats import FORMS, Output, OutputType

Command = Callable[..., Any]
OTHERS = ("snapshot", "namespace_option", "all_namespaces", "profile_option")
"""Fields of a Source that are options beside those of its connection."""


def connected(command: Command) -> Command:
    """Add the options about clusters and namespaces; the command gets a Source first."""

    @wraps(command)
    def run(**options: Any) -> Any:
        connection = ConnectionOptions(**{name: options.pop(name) for name in FLAGS})
        source = Source(connection=connection, **{name: options.pop(name) for name in OTHERS})
        return command(source, **options)

    made: Command = run
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def _connecting(option: Field[Any]) -> Callable[[Command], Command]:
    """Return the flag of an option of the connection."""
    flag: Flag = option.metadata[FLAG]
    known: dict[str, Any] = {"metavar": flag.metavar, "help": flag.text}
    if option.type == Path | None:
        known["type"] = click.Path(path_type=Path, dir_okay=False)
    elif option.type is float:
        known |= {"type": Duration(), "default": "0"}
    elif option.type == tuple[str, ...]:
        known["multiple"] = True
    else:
        known["default"] = option.default
    if flag.completes:
        known["shell_complete"] = getattr(completion, flag.completes)
    return click.option(*flag.names, option.name, **known)


_OPTIONS: tuple[Callable[[Command], Command], ...] = (
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
    *map(_connecting, fields(ConnectionOptions)),
    click.option(
        "--profile",
        "profile_option",
        default="",
        metavar="VERSION[,GATE=BOOL…]",
        help="The scheduler's version and feature gates; by default those of the server's version.",
    ),
)


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
