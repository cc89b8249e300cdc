"""The command line: `dragoman …`, and `kubectl dra …` through the same program."""

import sys
from importlib import import_module
from pathlib import Path

import click

from dragoman import __version__

COMMANDS = {
    "check": "Find in manifests what can never work, offline.",
    "delete-webhooks": "Delete the webhook configuration.",
    "operator": "Run the claim controller.",
    "verify": "Try whether the cluster's webhook refuses what it must.",
    "webhook": "Run the admission webhook.",
}
"""Sub-commands, each in a module of its name (`_` for `-`); loaded when used: they are heavy."""


class Commands(click.Group):
    """Loads only the command that is run, so that each starts as fast as it can."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 — click's signature
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 — as above
        """Load a command, or return None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"dragoman.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 — as above
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", "-V", prog_name="dragoman")
def cli() -> None:
    """The control plane of Kubernetes Dynamic Resource Allocation."""


def main() -> None:
    """Run the command line; named `kubectl dra` when kubectl runs it."""
    plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    cli(prog_name="kubectl dra" if plugin else "dragoman")


def complete() -> None:
    """Answer kubectl's request for completions (kubernetes#105867): candidates, then `:4`."""
    from click.shell_completion import ShellComplete  # noqa: PLC0415 — only for completion

    *args, incomplete = sys.argv[1:] or [""]
    completer = ShellComplete(cli, {}, "kubectl-dra", "_")
    for item in completer.get_completions(args, incomplete):
        click.echo(f"{item.value}\t{item.help or ''}")
    click.echo(":4")
