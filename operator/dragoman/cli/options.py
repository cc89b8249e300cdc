"""Options that several commands have, each with one name, one default and one help text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from dragoman.settings import OPTION, PRIORITY_SPAN, Option, Settings

Command = Callable[..., Any]
OTHERS = "Other options"


class GroupedCommand(click.Command):
    """A command of many options, which `--help` lists in groups.

    Args:
        groups: How the names of the options of each group begin, by its title.
    """

    def __init__(self, *args: Any, groups: Mapping[str, tuple[str, ...]], **known: Any) -> None:
        super().__init__(*args, **known)
        self.groups = groups

    def grouped(self, context: click.Context) -> Iterator[tuple[str, list[click.Parameter]]]:
        """Yield the titles of the groups, each with its options."""
        found: dict[str, list[click.Parameter]] = {title: [] for title in (*self.groups, OTHERS)}
        for one in self.get_params(context):
            found[self._title(str(one.name))].append(one)
        yield from ((title, options) for title, options in found.items() if options)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options group by group."""
        for title, options in self.grouped(ctx):
            with formatter.section(title):
                formatter.write_dl([row for one in options if (row := one.get_help_record(ctx))])

    def _title(self, name: str) -> str:
        return next((title for title, all_ in self.groups.items() if name.startswith(all_)), OTHERS)


def connection_options(command: Command) -> Command:
    """Add --kubeconfig and --context: to commands that ask an API server."""
    context = click.option(
        "--context", help="Context of the kubeconfig; by default its current one."
    )
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    )
    return kubeconfig(context(command))


def process_options(command: Command) -> Command:
    """Add --metrics-address, --log-format and --log-level: to commands that run for long."""
    return setting_options(Settings, "metrics_address", "log_format", "log_level")(command)


def setting_options(kind: type[Any], *names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for each setting, in their order.

    Args:
        kind: The dataclass of the settings.
        names: Which of them; all that are options where none is named.
    """
    options = [
        _option(one, one.metadata[OPTION])
        for one in fields(kind)
        if OPTION in one.metadata and (not names or one.name in names)
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _option(one: Field[Any], option: Option) -> Callable[[Command], Command]:
    flag = one.name.replace("_", "-")
    known: dict[str, Any] = {"help": option.text, "metavar": option.metavar}
    choices = option.choices or (get_args(one.type) if get_origin(one.type) is Literal else ())
    most = option.most if option.most < PRIORITY_SPAN else None
    if one.default_factory is not MISSING:
        known["default"] = one.default_factory()
    elif one.default not in (None, ()):
        known["default"] = one.default
    if one.type is bool:
        return click.option(f"--{flag}/--no-{flag}", **known)
    if choices:
        known["type"] = click.Choice(choices)
    elif one.type is int:
        known["type"] = click.IntRange(option.least, most)  # type: ignore[arg-type]  # ints
    elif one.type is float:
        known["type"] = float if option.least is None else click.FloatRange(option.least, most)
        known["metavar"] = option.metavar or "SECONDS"
    elif get_origin(one.type) is tuple:
        known["multiple"] = True
    elif one.type == Path | None:
        known["type"] = click.Path(path_type=Path, dir_okay=False, exists=True)
    return click.option(f"--{flag}", **known)
