"""`help`: what `--help` prints, as kubectl has it."""

import click


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
