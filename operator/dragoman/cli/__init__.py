"""The command line: `dragoman …`, and `kubectl dra …` through the same program."""

import errno
import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from dragoman import __version__
from dragoman.cli.completing import offered
from dragoman.cli.terminal import plain_errors, say
from dragoman.kube.connectionoptions import FLAGS
from dragoman_base.words.spelling import closest

USER_COMMANDS = {
    "adopt": "Give a generated claim without owner to the pod that uses it.",
    "auth": "Print the permissions you lack, and a ClusterRole that grants them.",
    "check": "Find in manifests what can never work, offline.",
    "completion": "Print a script for the completion of bash, zsh or fish.",
    "defrag": "Plan the fewest moves of pods that make room for a pod.",
    "doctor": "Find what is wrong in the cluster now, with a remedy for each finding.",
    "drain": "Take devices out of service, and evict the pods that use them.",
    "explain": "Say why a pod has no devices, and what would change that.",
    "help": "Print the help of a command.",
    "hold": "Keep new claims away from devices; pods are left alone.",
    "holds": "List which devices are out of service, since when, by whom and why.",
    "migrate": "Move from device plug-ins to DRA: what is lost, classes, steps and claims.",
    "options": "Print the options that all commands on a cluster have.",
    "preempt": "End pods of lower priority so that a pod gets its devices, or say which.",
    "release": "Free the devices of one claim that no pod uses.",
    "shapes": "Show recorded machines, and record one: for nodes that do not exist yet.",
    "simulate": "Say where pods would fit if the cluster were different.",
    "snapshot": "Write what every answer is computed from to a file.",
    "taint": "Taint devices by a DeviceTaintRule.",
    "top": "Show who has what: devices by class, node, namespace or pod.",
    "ui": "Show devices, holders and pods that wait in the browser.",
    "undrain": "Put drained devices back in service.",
    "unhold": "Put held devices back in service.",
    "untaint": "Remove taints that `taint` set.",
    "version": "Print the versions of this program and of the cluster.",
    "who": "Show which claim, pod and container has a device.",
}
"""What users type: all that `kubectl dra` has."""
AUTHOR_COMMANDS = {
    "conformance": "Check whether a DRA driver behaves, against a pretended kubelet.",
    "pretend": "Be a DRA driver without hardware: publish devices, and prepare claims.",
}
"""What authors of drivers type: commands of `dragoman` alone."""
SERVER_COMMANDS = {
    "delete-webhooks": "Delete the webhook configuration.",
    "operator": "Run the claim controller.",
    "verify": "Check that the webhook rejects what it must.",
    "webhook": "Run the admission webhook.",
}
"""What the chart runs: these are commands of `dragoman` alone."""
COMMANDS = USER_COMMANDS | AUTHOR_COMMANDS | SERVER_COMMANDS
"""Sub-commands, loaded when used: they are heavy."""
PLUGIN = "kubectl dra"
"""What users type before a command where kubectl runs this program."""
TOOLKIT = {
    "adopt": "doctor.release",
    "auth": "cluster.auth",
    "defrag": "preemption.defrag",
    "doctor": "doctor.doctor",
    "drain": "maintenance.drain",
    "explain": "diagnosis.explain",
    "hold": "maintenance.hold",
    "holds": "maintenance.holds",
    "migrate": "migration.migrate",
    "preempt": "preemption.preempt",
    "release": "doctor.release",
    "shapes": "diagnosis.shapes",
    "simulate": "diagnosis.simulate",
    "snapshot": "cluster.snapshot",
    "taint": "maintenance.taint",
    "top": "inventory.top",
    "ui": "ui.command",
    "undrain": "maintenance.undo",
    "unhold": "maintenance.undo",
    "untaint": "maintenance.undo",
    "version": "cluster.version",
    "who": "inventory.who",
}
"""Commands of `dragoman_toolkit.dra`, each with the module that defines it."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128, and the number of SIGINT."""
PIPE_CLOSED = 141
"""Exit status when the reader of a pipe has ended: 128, and the number of SIGPIPE."""
UNUSABLE = 2
"""Exit status where there is no answer."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a write that the user can fix."""
GLOBAL_OPTIONS = {
    "-n": True,
    "--namespace": True,
    "-A": False,
    "--all-namespaces": False,
    **dict.fromkeys((name for flag in FLAGS.values() for name in flag.names), True),
    "--snapshot": True,
    "--profile": True,
}
"""Options that may stand before the command, and whether each takes a value."""
EXTRAS = {
    "operator": ("aiofastnet", "cryptography", "kopf", "prometheus_client", "structlog"),
    "conformance": ("cryptography", "google", "grpc", "urllib3"),
}
"""Modules of others that only these commands need, by the extra that installs them."""
MODULES = {
    "check": "dragoman_toolkit.check.check",
    "completion": "dragoman_toolkit.completion",
    **dict.fromkeys(("help", "options"), "dragoman_toolkit.help"),
    **{name: f"dragoman_drivers.cli.{name}" for name in AUTHOR_COMMANDS},
    **{name: f"dragoman_toolkit.dra.{module}" for name, module in TOOLKIT.items()},
}
"""Modules by command; others are in `dragoman.cli`, with the command's name (`_` for `-`)."""


class Commands(click.Group):
    """Loads only the command that is run, so that each starts as fast as it can."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(_offered(ctx))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 — click's signature
        """Load a command, or return None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = MODULES.get(cmd_name, f"dragoman.cli.{name}")
        try:
            command: click.Command = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            raise _missing(cmd_name, error) from error
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the options before the command."""
        with plain_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its errors reach the terminal without control characters.

        Ctrl-C and a closed pipe end it with the status of their signals, as they end kubectl, and a
        full disk with 2: 1 would be an answer.
        """
        try:
            with plain_errors():
                return super().invoke(ctx)
        except ModuleNotFoundError as error:
            raise _missing(ctx.invoked_subcommand or "", error) from error
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            _discard_output()
            sys.exit(PIPE_CLOSED)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _discard_output()
            say(f"Error: cannot write the output: {error.strerror}")
            sys.exit(UNUSABLE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take options that all commands share from before the command, as kubectl does."""
        return super().parse_args(ctx, hoisted(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named; raise click.UsageError with a near name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = closest(name, _offered(ctx))
            hint = f'; did you mean "{near}"?' if near else ""
            raise click.UsageError(f'unknown command "{name}" for "{ctx.info_name}"{hint}', ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> "list[click.shell_completion.CompletionItem]":
        """Offer commands with the whole of their help line, without loading them."""
        found = offered(sorted(_offered(ctx).items()), incomplete)
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_offered(ctx).items()))


def _missing(command: str, error: ModuleNotFoundError) -> Exception:
    """Return what to say where a command's extra is not installed; another error as it is."""
    extra = "conformance" if command in AUTHOR_COMMANDS else "operator"
    name = (error.name or "").partition(".")[0]
    if name not in EXTRAS[extra]:
        return error
    return click.ClickException(
        f"{command} needs packages that are not installed ({name}): in a checkout of dragoman, "
        f"pip install '.[{extra}]'"
    )


def _discard_output() -> None:
    """Send standard output nowhere, so that Python's last flush does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def hoisted(args: list[str]) -> list[str]:
    """Return arguments with the options of GLOBAL_OPTIONS behind the command, not before it."""
    moved: list[str] = []
    rest = [*args]
    while rest and rest[0].startswith("-") and rest[0] != "-":
        name, equals, _ = rest[0].partition("=")
        if not name.startswith("--") and len(name) > 2:
            name, equals = name[:2], "joined"
        if name not in GLOBAL_OPTIONS:
            break
        moved.append(rest.pop(0))
        if GLOBAL_OPTIONS[name] and not equals and rest:
            moved.append(rest.pop(0))
    # Without a command there is nothing to give them to: click says what is missing.
    return [rest[0], *moved, *rest[1:]] if rest and moved else [*moved, *rest]


def _offered(context: click.Context) -> dict[str, str]:
    """Return the commands that are shown: the plugin of kubectl hides those of servers."""
    plugin = (context.info_name or "").startswith(PLUGIN)
    return USER_COMMANDS if plugin else COMMANDS


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", "-V", prog_name="dragoman")
def cli() -> None:
    """The control plane of Kubernetes Dynamic Resource Allocation."""


def main() -> None:
    """Run the command line; named `kubectl dra` when kubectl runs it."""
    # What a command reads stays until it ends: to look through it for garbage took a third of
    # the time of `explain`. What answers again and again collects after each answer, and servers
    # set their own threshold.
    gc.set_threshold(500_000, 50, 100)
    if sys.stdout is None:  # closed by the shell, as with `>&-`: only the exit status is wanted
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 — for as long as the process lives
    if Path(sys.argv[0]).name.startswith("kubectl_complete-"):  # a link to the one file
        complete()
        return
    plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    cli(prog_name=PLUGIN if plugin else "dragoman")


def complete() -> None:
    """Answer kubectl's request for completions (kubernetes#105867): names, then a directive."""
    from click.shell_completion import ShellComplete  # noqa: PLC0415 — only for completion

    *args, incomplete = sys.argv[1:] or [""]
    completer = ShellComplete(cli, {}, PLUGIN, "_")
    items = completer.get_completions(hoisted(args), incomplete)
    files = any(item.type != "plain" for item in items)
    for item in items if not files else ():
        click.echo(f"{item.value}\t{item.help or ''}")
    # Directives of cobra, which kubectl is built on: 0 lets the shell complete files, 4 does not.
    click.echo(":0" if files else ":4")
