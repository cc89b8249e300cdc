"""`help` and `options`: what `--help` prints, and options for any command, as kubectl has them."""

import click

from dragoman.cli import GLOBAL_OPTIONS


@click.command()
@click.argument("command", required=False, default="")
@click.pass_context
def help(context: click.Context, command: str) -> None:  # noqa: A001 — the command's name
    """Print the help of a command, or of all of them."""
    root = context.find_root()
    if not command:
        click.echo(root.get_help())
        return
    assert isinstance(root.command, click.Group)
    _, found, _ = root.command.resolve_command(root, [command])
    if found is not None:
        with click.Context(found, info_name=command, parent=root) as inner:
            click.echo(inner.get_help())


@click.command()
@click.pass_context
def options(context: click.Context) -> None:
    """Print the options that all commands on a cluster have, before or after their name."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    command = root.command.get_command(root, "top")
    assert command is not None
    formatter = context.make_formatter()
    with click.Context(command, info_name="top", parent=root) as inner:
        records = [
            record
            for option in command.get_params(inner)
            if {*option.opts} & GLOBAL_OPTIONS.keys() and (record := option.get_help_record(inner))
        ]
    with formatter.section("These options can be given to any command that reads a cluster"):
        formatter.write_dl(records)
    click.echo(formatter.getvalue(), nl=False)
