"""`completion`: a script that makes a shell complete commands, options and names."""

import click

_EXAMPLES = """\
\b
Examples:
  source <(kubectl dra completion bash)
  source <(dragoman completion zsh)
  dragoman completion fish | source
"""
_KUBECTL = {
    "bash": "source <(kubectl completion bash)",
    "zsh": "source <(kubectl completion zsh)",
    "fish": "kubectl completion fish | source",
}


@click.command(epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice([*_KUBECTL]), required=False, metavar="{bash|zsh|fish}")
@click.pass_context
def completion(context: click.Context, shell: str | None) -> None:
    """Print a script for the completion of a shell.

    kubectl completes its plugins itself: it runs `kubectl_complete-dra`, which is installed next to
    `kubectl-dra` and has to be in PATH. The script for `kubectl dra` is therefore kubectl's own.
    """
    if shell is None:
        raise click.UsageError(f"name a shell: {', '.join(_KUBECTL)}")
    root = context.find_root()
    if (root.info_name or "").startswith("kubectl"):
        click.echo("# kubectl asks kubectl_complete-dra for names, options and commands.")
        click.echo(_KUBECTL[shell])
        return
    from click.shell_completion import get_completion_class  # noqa: PLC0415 — only here

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(root.command, {}, "dragoman", "_DRAGOMAN_COMPLETE").source())
