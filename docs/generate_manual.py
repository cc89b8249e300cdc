"""Write docs/cli.md, docs/values.md and docs/api.md: `python -m docs.generate_manual`.

They follow from the commands' options, from values.schema.json and values.yaml of the chart, and
from the CRDs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from docs import generate_chart
from dragoman.cli import AUTHOR_COMMANDS, SERVER_COMMANDS, USER_COMMANDS, cli
from dragoman.cli.options import GroupedCommand
from dragoman.kube.connectionoptions import FLAGS
from dragoman_base.files import yamltext
from dragoman_toolkit.dra.cluster.options import OTHERS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SHARED = frozenset((*FLAGS, *OTHERS))
"""Options that every command has that reads a cluster."""
_GENERATED = "<!-- `make pages` generates this page; a test compares it. -->"
CLI_HEAD = f"""\
# Command line

{_GENERATED}

`kubectl dra COMMAND` and `dragoman COMMAND` run the same program; the commands for servers exist
only as `dragoman COMMAND`. A flag overrides its environment variable.
"""
VALUES_HEAD = f"""\
# Values of the chart

{_GENERATED}

The [README of the chart](../charts/dragoman/README.md) explains them in context. Helm rejects
values that do not have the type and form of these tables.
"""
VALUES_TABLE = "| value | type | default | meaning |\n|---|---|---|---|\n"
API_HEAD = f"""\
# API reference

{_GENERATED}

Kinds of the API group `dragoman.dev`. `kubectl explain KIND --recursive` prints the same.
"""


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {
        DOCS / "cli.md": commands(),
        DOCS / "values.md": values(),
        DOCS / "api.md": kinds(),
    }


# Commands -----------------------------------------------------------------------------------------


def commands() -> str:
    """Return the page of all commands."""
    shared = [f"| `{_cell(flags)}` | {_cell(text)} |" for flags, text in _shared()]
    head = "## Options about the cluster\n\n| flag | meaning |\n|---|---|\n"
    parts = [CLI_HEAD, head + "\n".join(shared) + "\n"]
    parts += ["## Users' commands\n", *map(_command, sorted(USER_COMMANDS))]
    parts += ["## Commands for driver authors\n", *map(_command, sorted(AUTHOR_COMMANDS))]
    parts += ["## Servers' commands\n", *map(_command, sorted(SERVER_COMMANDS))]
    return "\n".join(parts)


def _shared() -> Iterator[tuple[str, str]]:
    """Yield the options of all commands that read a cluster, once for the page."""
    context = click.Context(cli, info_name="kubectl dra")
    command = cli.get_command(context, "top")
    assert command is not None
    for parameter in command.get_params(context):
        if parameter.name in SHARED:
            yield from _option(context, parameter)


def _command(name: str) -> str:
    program = "kubectl dra" if name in USER_COMMANDS else "dragoman"
    context = click.Context(cli, info_name=program)
    command = cli.get_command(context, name)
    assert command is not None
    if isinstance(command, click.Group):
        return _group(context, command, program)
    return _page(command, name, context, program)


def _group(context: click.Context, group: click.Group, program: str) -> str:
    """Return the section of a command that has commands of its own, and theirs."""
    inner = click.Context(group, info_name=group.name, parent=context)
    parts = [
        f"### {group.name}\n",
        *_paragraphs(group.help or ""),
        f"Usage: `{program} {group.name} COMMAND`\n",
        *_examples(group.epilog or ""),
    ]
    sections = [
        _page(found, f"{group.name} {name}", context, program)
        for name in group.list_commands(inner)
        if (found := group.get_command(inner, name))
    ]
    return "\n".join(["\n".join(parts), *sections])


def _page(command: click.Command, name: str, context: click.Context, program: str) -> str:
    inner = click.Context(command, info_name=name, parent=context)
    usage = " ".join(command.collect_usage_pieces(inner))
    reads = {one.name for one in command.params} >= SHARED
    own = [
        one
        for one in command.params
        if not (reads and one.name in SHARED) and isinstance(one, click.Option)
    ]
    groups = command.grouped(inner) if isinstance(command, GroupedCommand) else [("", own)]
    tables = [
        "\n".join([*([f"{title}:\n"] * bool(title)), "| flag | meaning |\n|---|---|", *rows, ""])
        for title, options in groups
        if (rows := [*_rows(inner, [one for one in options if one in own])])
    ]
    lines = [
        f"### {name}\n",
        *_paragraphs(command.help or ""),
        f"Usage: `{program} {name} {usage}`\n",
        *(["Takes the [options about the cluster](#options-about-the-cluster).\n"] * reads),
        *(tables or [""]),
        *_examples(command.epilog or ""),
    ]
    return "\n".join(lines)


def _rows(context: click.Context, options: Iterable[click.Parameter]) -> Iterator[str]:
    for one in options:
        for flags, text in _option(context, one):
            yield f"| `{_cell(flags)}` | {_cell(text)} |"


def _option(context: click.Context, parameter: click.Parameter) -> Iterator[tuple[str, str]]:
    record = parameter.get_help_record(context)
    if record is not None:
        flags, text = record
        variable = getattr(parameter, "envvar", None)
        yield flags, f"{text} Environment: `{variable}`." if isinstance(variable, str) else text


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b\n", "").split("\n\n"):
        yield " ".join(paragraph.split()) + "\n"


def _examples(epilog: str) -> Iterator[str]:
    """Yield the blocks of an epilog, each a title and lines."""
    for block in epilog.split("\b\n"):
        title, _, lines = block.strip("\n").partition("\n")
        if lines:
            yield f"{title}\n\n```text\n{lines.rstrip()}\n```\n"


# Values -------------------------------------------------------------------------------------------


def values() -> str:
    """Return the page of the chart's values."""
    schema = json.loads((generate_chart.CHART / "values.schema.json").read_text())
    read = generate_chart.read((generate_chart.CHART / "values.yaml").read_text())
    parts = [VALUES_HEAD]
    for title, members in generate_chart.sections(read).items():
        rows = [_value(one, _at(schema, one.path)) for one in members]
        parts.append(f"## {title}\n\n{VALUES_TABLE}" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _value(value: generate_chart.Value, schema: Mapping[str, Any]) -> str:
    """Return the row of a value."""
    default = json.dumps(value.default, ensure_ascii=False)
    name, form = ".".join(value.path), _cell(_form(schema))
    return f"| `{name}` | {form} | `{_cell(default)}` | {_cell(value.description)} |"


def _at(schema: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    for key in path:
        schema = schema.get("properties", {}).get(key, {})
    return schema


def _form(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words, with its choices or its pattern."""
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    kinds_of = schema.get("type", "any")
    words = " or ".join(kinds_of) if isinstance(kinds_of, list) else str(kinds_of)
    bounds = [f"{name} {schema[name]}" for name in ("minimum", "maximum") if name in schema]
    return ", ".join([words, *bounds])


# Kinds --------------------------------------------------------------------------------------------


def kinds() -> str:
    """Return the page of all kinds."""
    parts = [API_HEAD]
    for file in sorted((ROOT / "crds").glob("*.yaml")):
        definition = yamltext.own(file.read_bytes())
        parts += [_kind(definition, version) for version in definition["spec"]["versions"]]
    return "\n".join(parts)


def _kind(definition: Mapping[str, Any], version: Mapping[str, Any]) -> str:
    spec = definition["spec"]
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(f"`{name}`" for name in spec["names"].get("shortNames", ()))
    lines = [
        f"## {spec['names']['kind']}\n",
        f"{' '.join(schema.get('description', '').split())}\n",
        f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}-scoped"
        + (f", short name {short}" if short else "")
        + ".\n",
        "| field | type | meaning |\n|---|---|---|",
    ]
    for part in ("spec", "status"):
        lines += _fields(part, schema["properties"].get(part, {}))
    return "\n".join(lines) + "\n"


def _fields(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        mark = ", required" if name in required else ""
        yield f"| `{path}.{name}` | {_type(field)}{mark} | {_cell(_meaning(field))} |"
        inner, suffix = field, ""
        if field.get("type") == "array":
            inner, suffix = field.get("items", {}), "[]"
        elif isinstance(field.get("additionalProperties"), dict):
            inner, suffix = field["additionalProperties"], ".*"
        yield from _fields(f"{path}.{name}{suffix}", inner)


def _type(field: Mapping[str, Any]) -> str:
    kind = "int or string" if field.get("x-kubernetes-int-or-string") else field.get("type", "any")
    if kind == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(kind)


def _meaning(field: Mapping[str, Any]) -> str:
    text = " ".join(str(field.get("description", "")).split())
    if "enum" in field:
        text += f" One of {', '.join(f'`{one}`' for one in field['enum'])}."
    if "default" in field:
        text += f" Default `{json.dumps(field['default'])}`."
    return text.strip()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
