"""`options`: the options that may stand before any command, as kubectl lists its own."""

import click

from dragoman.cli import GLOBAL_OPTIONS


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
