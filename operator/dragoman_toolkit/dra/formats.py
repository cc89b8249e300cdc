"""Forms of output beside tables: what -o, --sort-by and --no-headers say, as in kubectl."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import click

from dragoman.cli.completing import offered
from dragoman_base.words import natural
from dragoman_toolkit.dra.jsonpath import JSONPathError, path, printed, template
from dragoman_toolkit.dra.reports import Report
from dragoman_toolkit.dra.tables import Table

FORMS = ("table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE", "custom-columns=SPEC")
GO_TEMPLATES = ("go-template", "go-template-file", "template", "templatefile")
INSTEAD = (
    "-o jsonpath='{range .items[*]}…{end}' or -o custom-columns=HEADER:FIELD, "
    "or pass -o json to another program"
)
"""Alternatives to Go templates, which would need a compiled library."""
CAPI = "shape-capi"
"""Annotations for Cluster API's autoscaler, of `simulate` alone."""
NONE = "<none>"
"""What kubectl prints for a field that is not there."""
_METADATA = re.compile(r"^(\{?\.?)metadata\.(?=(?:name|namespace)\}?$)")
_ITEMS: Mapping[str, tuple[str, str]] = {
    "TopClasses": ("classes", "deviceclass"),
    "TopNodes": ("nodes", "node"),
    "TopNamespaces": ("namespaces", "namespace"),
    "TopPods": ("pods", "pod"),
    "QueueUsage": ("queues", "queue"),
    "TopValues": ("rows", "node"),
    "NodeShapes": ("shapes", "nodeshape"),
    "Who": ("devices", "device"),
    "Holds": ("holds", "hold"),
    "Diagnosis": ("findings", "finding"),
    "Access": ("rights", "right"),
    "MigrationReport": ("workloads", "workload"),
    "MigrationPlan": ("nodes", "node"),
}
"""The list of each kind of document, and what one of it is called."""


class Output(str):  # noqa: SLOT000 — one for each command
    """The form of the output; as a text, `table`, `wide`, `json`, `yaml`, `name` or `FORM=TEXT`.

    Attributes:
        sort_by: Field by which rows are sorted; empty for their usual order.
        headers: Whether tables have their header line.
        form: What stands before `=`.
        rendered: Renders a document with the template of jsonpath.
        columns: Returns the cells of custom-columns for one item.
        column_names: Their headers.
    """

    sort_by: str = ""
    headers: bool = True
    rendered: Callable[[Any], str]
    columns: Callable[[Any], tuple[str, ...]]
    column_names: tuple[str, ...] = ()

    def __new__(cls, text: str = "table", *, sort_by: str = "", headers: bool = True) -> Self:
        """Read what was given; raise JSONPathError for a template that cannot be read."""
        made = super().__new__(cls, text)
        made.sort_by, made.headers = sort_by, headers
        form, _, given = text.partition("=")
        if form == "jsonpath":
            made.rendered = template(given if "{" in given else f"{{{given}}}")
        elif form == "custom-columns":
            pairs = [one.partition(":") for one in given.split(",")]
            if not all(header and field for header, _, field in pairs):
                raise JSONPathError("custom-columns: expected HEADER:FIELD[,HEADER:FIELD…]")
            made.column_names = tuple(header for header, _, _ in pairs)
            fields = [path(field) for _, _, field in pairs]
            made.columns = lambda item: tuple(
                ",".join(map(printed, values)) if (values := field(item)) else NONE
                for field in fields
            )
        return made

    @property
    def form(self) -> str:
        """What stands before `=`."""
        return self.partition("=")[0]

    @property
    def document(self) -> bool:
        """Whether a program reads it."""
        return self.form not in ("table", "wide")


class OutputType(click.ParamType[Output]):
    """-o: one of FORMS."""

    name = "output"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Output:
        """Read the form; fail with all forms, or the place in a template."""
        form, equals, _ = str(value).partition("=")
        if value == CAPI and ctx is not None and ctx.command.name == "simulate":
            return Output(CAPI)
        if form in GO_TEMPLATES:
            self.fail(f"{form} needs Go: write {INSTEAD}", param, ctx)
        known = {one.partition("=")[0]: "=" in one for one in FORMS}
        if form not in known or known[form] != bool(equals):
            self.fail(f"expected one of {', '.join(FORMS)}, found {value!r}", param, ctx)
        try:
            return Output(value)
        except JSONPathError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:  # noqa: ARG002 — click's signature
        """Offer the forms."""
        forms = (one.partition("=")[0] + "=" * ("=" in one) for one in FORMS)
        return offered(forms, incomplete)


def items(report: Report) -> Sequence[Mapping[str, Any]]:
    """Return what a report lists; the whole document where it is about one thing."""
    listed = _ITEMS.get(report.kind)
    return report.document[listed[0]] if listed else [report.as_json()]


def names(report: Report) -> Iterator[str]:
    """Yield `kind/name` of what a report lists."""
    for one in items(report):
        if report.kind == "Diagnosis":
            one = one["object"]  # noqa: PLW2901 — findings have none of their own
        noun = _ITEMS[report.kind][1] if report.kind in _ITEMS else "pod"
        kind = str(one.get("kind") or noun).lower() if report.kind == "Diagnosis" else noun
        if report.kind == "Who":
            yield f"{kind}/{one['driver']}/{one['pool']}/{one['device']}"
        elif report.kind == "Access":
            yield f"{one['resource']}.{one['group']}" if one["group"] else str(one["resource"])
        else:
            if report.kind == "Holds":
                kind = "devicetaintrule" if one["kind"] == "rule" else "resourceclaim"
            found = one.get("name") or one.get("namespace") or one.get("class") or ""
            yield f"{kind}/{found}"


def sorted_report(report: Report, field: str) -> Report:
    """Return a report whose list is sorted by a field, as `kubectl get --sort-by` does.

    Raises:
        click.UsageError: The report lists nothing, or the field is no JSONPath.
    """
    listed = _ITEMS.get(report.kind)
    if listed is None:
        raise click.UsageError("--sort-by: this answer is no list")
    try:
        # kubectl's users sort objects by `.metadata.name`; rows have the name itself.
        value = path(_METADATA.sub(r"\1", field))
    except JSONPathError as error:
        raise click.UsageError(f"--sort-by: {error}") from None
    found = list(report.document[listed[0]])
    keys = [_key(value(one)) for one in found]
    if found and not any(key[0] for key in keys):
        known = ", ".join(f".{name}" for name in found[0])
        raise click.UsageError(f"--sort-by: nothing has {field}; there are {known}")
    order = sorted(range(len(found)), key=keys.__getitem__)
    document = {**report.document, listed[0]: [found[index] for index in order]}
    blocks = tuple(_sorted(one, order) for one in report.blocks)
    return replace(report, document=document, blocks=blocks)


def _sorted(block: Any, order: Sequence[int]) -> Any:
    """Return a table in another order: a row without its first cell belongs to the one above."""
    if not isinstance(block, Table):
        return block
    groups: list[list[Any]] = []
    for row in block.rows:
        first = row[0] if isinstance(row[0], str) else row[0].text
        if first or not groups:
            groups.append([])
        groups[-1].append(row)
    if len(groups) != len(order):
        return block
    return replace(block, rows=tuple(row for index in order for row in groups[index]))


def _key(values: Sequence[Any]) -> tuple[int, tuple[Any, ...]]:
    """Return what sorts like kubectl: what is missing first, numbers, then texts by their parts."""
    if not values or values[0] is None:
        return 0, ()
    value = values[0]
    if isinstance(value, bool | int | float):
        return 1, (value,)
    text = value if isinstance(value, str) else json.dumps(value)
    return 2, natural(text)
