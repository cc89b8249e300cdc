"""Write what follows from other files in charts/dragoman: `python docs/generate_chart.py`.

The CRDs' templates follow from crds/, since a chart cannot reach outside itself; the schema of the
values and the tables in the chart's README from the comments in values.yaml. Those comments are
`# -- description`, `# @schema {…}` with what cannot be seen from the default, and
`# @section title` where a table of its own begins.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dragoman_base.files import yamltext

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts/dragoman"
BEGIN, END = "<!-- values -->", "<!-- end of values -->"
KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    dict: "object",
    list: "array",
}
MODES = ["Enforce", "Warn", "Audit", "Off"]
VARIABLES = {"bool": "boolean", "int": "integer", "string": "string"}
DESCRIPTION, SCHEMA, SECTION = "-- ", "@schema ", "@section "

CRDS = {
    "driverconfigschemas": ".Values.crds.enabled",
    "clusterresourceclaimtemplates": "and .Values.crds.enabled .Values.clusterTemplates.enabled",
    "devicemaintenances": "and .Values.crds.enabled .Values.maintenance.enabled",
    "devicepreemptions": 'and .Values.crds.enabled (ne .Values.preemption.mode "off")',
    "devicepoolreports": "and .Values.crds.enabled .Values.inventory.reports",
}
"""The chart's CRDs with the condition of each."""
CRD_HEAD = """\
{{- /* Written from crds/PLURAL.yaml by docs/generate_chart.py. */}}
{{- if CONDITION }}
"""
CRD_METADATA = """\
metadata:
  {{- $kept := ternary (dict "helm.sh/resource-policy" "keep") (dict) .Values.crds.keep }}
  {{- include "dragoman.metadata" (dict "root" . "component" "crds" "global" true \
"name" "PLURAL.dragoman.dev" \
"annotations" (merge $kept (default dict .Values.crds.annotations))) | nindent 2 }}
"""


@dataclass(slots=True)
class Value:
    """One value, or a group of them.

    Attributes:
        path: Keys from the outermost on.
        default: What values.yaml sets.
        description: Sentences, empty for a group.
        narrowing: JSON Schema beside what follows from the default.
        section: Title of the table that begins with this value, empty within one.
        members: Values of a group, by key.
    """

    path: tuple[str, ...]
    default: Any
    description: str = ""
    narrowing: dict[str, Any] = field(default_factory=dict)
    section: str = ""
    members: dict[str, "Value"] = field(default_factory=dict)

    def leaves(self) -> Iterator["Value"]:
        """Yield the values that have a description, in their order."""
        if self.description:
            yield self
        for member in self.members.values():
            yield from member.leaves()


def read(text: str) -> Value:
    """Read values.yaml with its comments.

    Raises:
        ValueError: A value has no description.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)
    return Value((), yamltext.own(text), members=_members((), node, text.splitlines()))


def _members(path: tuple[str, ...], node: yaml.MappingNode, lines: list[str]) -> dict[str, Value]:
    members = {}
    for key, child in node.value:
        default = yamltext.own(yaml.serialize(child))
        made = Value((*path, key.value), default, *_comment(lines, key.start_mark.line))
        if isinstance(child, yaml.MappingNode) and _is_group(child, lines):
            made.members = _members(made.path, child, lines)
        elif not made.description:
            raise ValueError(f"{'.'.join(made.path)}: no comment `# {DESCRIPTION}…` above it")
        members[key.value] = made
    return members


def _is_group(node: yaml.MappingNode, lines: list[str]) -> bool:
    """Whether any value in a map has a comment of its own, or is such a group."""
    return any(
        _comment(lines, key.start_mark.line)[0]
        or (isinstance(child, yaml.MappingNode) and _is_group(child, lines))
        for key, child in node.value
    )


def _comment(lines: list[str], number: int) -> tuple[str, dict[str, Any], str]:
    """Read description, schema and section from the comment that ends above a line."""
    first = number
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    words: list[str] = []
    narrowing: dict[str, Any] = {}
    section = ""
    for line in lines[first:number]:
        text = line.lstrip()[1:].strip()
        if text.startswith(SCHEMA):
            narrowing = json.loads(text.removeprefix(SCHEMA))
        elif text.startswith(SECTION):
            section = text.removeprefix(SECTION)
        elif text.startswith(DESCRIPTION):
            words = [text.removeprefix(DESCRIPTION)]
        elif words:
            words.append(text)
    return " ".join(words), narrowing, section


def schema(value: Value) -> dict[str, Any]:
    """Return the JSON Schema of a value, or of all."""
    made: dict[str, Any] = {}
    if value.description:
        made["description"] = value.description
    if value.members:
        made |= {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: schema(member) for key, member in value.members.items()},
            "required": [key for key, member in value.members.items() if _is_needed(member)],
        }
    elif not {"type", "enum"} & value.narrowing.keys():
        made["type"] = _type(value)
    return made | _resolved(value.narrowing)


def _is_needed(value: Value) -> bool:
    """Whether null is a valid value: helm drops a default that is overridden with null."""
    if value.members or "minItems" in value.narrowing:
        return True
    return value.default not in (None, "") and not isinstance(value.default, dict | list)


def _type(value: Value) -> str:
    kind = KINDS.get(type(value.default))
    if kind is None:
        raise ValueError(f"{'.'.join(value.path)}: `# {SCHEMA}` must tell its type")
    return "integer" if kind == "number" and _counts(value.path[-1]) else kind


def _counts(key: str) -> bool:
    """Whether a number is one of things, not of seconds that may have fractions."""
    return not key.endswith(("Seconds", "Days")) or key.startswith(
        ("timeout", "period", "preStop", "terminationGracePeriod")
    )


def _resolved(narrowing: Mapping[str, Any]) -> dict[str, Any]:
    """Put in what stands in other files: drivers of the catalog, names of alerts."""
    made = dict(narrowing)
    if made.pop("x-drivers", False):
        made |= {"additionalProperties": False, "properties": drivers()}
    if made.pop("x-alerts", False):
        made["items"] = {"enum": alerts()}
    return made


def drivers() -> dict[str, Any]:
    """Return the schema of each driver's settings in the catalog, by the driver's name.

    Variables of a driver are those that its schema declares, with their types and defaults.
    """
    specs = [
        yamltext.own(path.read_bytes())["spec"] for path in (ROOT / "crds/catalog").glob("*.yaml")
    ]
    return {
        spec["driver"]: {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {
                "mode": {"enum": MODES},
                "variables": {
                    "type": ["object", "null"],
                    "additionalProperties": False,
                    "properties": {
                        one["name"]: _variable(one) for one in spec.get("variables", ())
                    },
                },
            },
        }
        for spec in sorted(specs, key=lambda one: str(one["driver"]))
    }


def _variable(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": VARIABLES[declared["type"]], "default": declared["value"]}


def alerts() -> list[str]:
    """Return the names of the chart's alerts."""
    groups = yamltext.own((CHART / "files/alerts.yaml").read_bytes())["groups"]
    return [rule["alert"] for group in groups for rule in group["rules"]]


def values_schema(values: Value) -> str:
    """Return values.schema.json."""
    document = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "dragoman"}
    return json.dumps(document | schema(values), indent=2) + "\n"


def sections(values: Value) -> dict[str, list[Value]]:
    """Return the values that have a description, by the title of their table.

    Raises:
        ValueError: The first value has no section.
    """
    found: dict[str, list[Value]] = {}
    title = ""
    for member in values.members.values():
        title = member.section or title
        if not title:
            raise ValueError(f"{member.path[0]}: no comment `# {SECTION}…` above it")
        found.setdefault(title, []).extend(member.leaves())
    return found


def tables(values: Value) -> str:
    """Return the tables of values for the README, each with a heading."""
    return "\n".join(
        f"### {title}\n\n{_table(members)}" for title, members in sections(values).items()
    )


def _table(values: list[Value]) -> str:
    rows = "".join(
        f"| {_key(one)} | {_default(one)} | {one.description} |\n"
        for one in values
        if not one.members
    )
    return f"| value | default | meaning |\n|---|---|---|\n{rows}"


def _key(value: Value) -> str:
    return f"`{'.'.join(value.path)}`"


def _default(value: Value) -> str:
    return f"`{json.dumps(value.default)}`".replace("|", "\\|")


def readme(values: Value, current: str) -> str:
    """Return the README with fresh tables between its markers."""
    before, _, rest = current.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(values)}{END}{after}"


def crd_template(plural: str) -> str:
    """Return a CRD as a template of the chart."""
    text = (ROOT / f"crds/{plural}.yaml").read_text()
    head, _, rest = text.partition("metadata:\n")
    _, _, body = rest.partition("spec:\n")
    # Braces would be read as a template's.
    body = body.replace("{{", '{{ "{{" }}')
    start = CRD_HEAD.replace("CONDITION", CRDS[plural]) + head + CRD_METADATA
    return f"{start.replace('PLURAL', plural)}spec:\n{body}{{{{- end }}}}\n"


def files() -> dict[Path, str]:
    """Return the text of every file that is written, by its path."""
    values = read((CHART / "values.yaml").read_text())
    manual = CHART / "README.md"
    return {
        CHART / "values.schema.json": values_schema(values),
        **{CHART / f"templates/crds/{one}.yaml": crd_template(one) for one in CRDS},
        manual: readme(values, manual.read_text()),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
