"""The page about the catalog (`docs/catalog.md`), made from the objects themselves."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dragoman_configs.objects.driverconfigschema import (
    CHECKED_AGAINST,
    CLAIM,
    CLASS,
    ConfigSpec,
    DriverConfigSchema,
    EntryRules,
)
from dragoman_configs.objects.schemaparser import parse

DESCRIPTION = "dragoman.dev/description"

_HEAD = """\
# The catalog

Ready-made DriverConfigSchemas, one per driver. They say what each driver does when it prepares a
claim, which is not always what its own webhook says. The rows are made from the files in
`crds/catalog` by `python docs/generate_catalog.py`.

The objects set neither `mode` nor anything else that is a choice, so what you set yourself stays
yours. Only those from a vendor's documentation have the mode Warn, because a closed driver may
accept more than its vendor says. A driver's feature gates are `variables`; they have the driver's
own defaults, so set those that your installation of the driver changes. A server-side apply sets
one variable and leaves the others alone:

<!-- from: examples/configs/mps-support.yaml -->
```yaml
apiVersion: dragoman.dev/v1alpha1
kind: DriverConfigSchema
metadata:
  name: gpu.nvidia.com
spec:
  driver: gpu.nvidia.com
  variables:
  - name: MPSSupport
    value: true
```

```console
$ kubectl apply --server-side --force-conflicts --field-manager=admin \\
  -f examples/configs/mps-support.yaml
driverconfigschema.dragoman.dev/gpu.nvidia.com serverside-applied
```

The object must have been applied server-side, as the operator does: after a client-side apply,
kubectl counts all its fields as yours and removes those that the smaller file lacks. The operator
leaves a value that you have set to you from then on. `dragoman check` takes the same
setting as `--variable gpu.nvidia.com:MPSSupport=true`; without it, what depends on the gate is a
warning.
"""

_EARLIER = """\
The newest schema of a driver is the default. The schemas below describe earlier releases, which
accept less. The folder `crds/catalog/releases` holds them. Each has the name of the default
object and replaces it. The operator applies one with `--catalog all,dra.net@v1.4.0`, and the
command checks with `dragoman check --schemas catalog --schemas dra.net@v1.4.0 -f claim.yaml`.
"""


def page(documents: Iterable[Mapping[str, Any]], releases: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the page.

    Args:
        documents: the default objects; the page lists them in the order of their drivers.
        releases: the objects for earlier releases, by `DRIVER@RELEASE`.
    """
    found = sorted(documents, key=lambda document: str(document["spec"]["driver"]))
    parts = [_HEAD, "\n".join(_overview(found)) + "\n"]
    parts += ["\n".join(_earlier(releases)) + "\n"]
    parts += ["\n".join(_section(document)) + "\n" for document in found]
    return "\n".join(parts)


def _overview(documents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield "| driver | kinds | checked against |"
    yield "|---|---|---|"
    for document in documents:
        parsed = parse(document)
        kinds = ", ".join(_kind(config) for config in parsed.configs) or "takes none"
        yield f"| `{parsed.driver}` | {kinds} | {_annotation(document, CHECKED_AGAINST)} |"


def _earlier(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "## Earlier releases"
    yield ""
    yield _EARLIER
    yield "| name | checked against |"
    yield "|---|---|"
    for name, document in sorted(releases.items()):
        yield f"| `{name}` | {_annotation(document, CHECKED_AGAINST)} |"


def _section(document: Mapping[str, Any]) -> Iterator[str]:
    parsed = parse(document)
    yield f"## {parsed.driver}"
    yield ""
    yield _annotation(document, DESCRIPTION)
    yield ""
    yield f"* Checked against {_annotation(document, CHECKED_AGAINST)}."
    yield from _behaviour(parsed)
    for config in parsed.configs:
        yield ""
        yield from _config(config)


def _behaviour(parsed: DriverConfigSchema) -> Iterator[str]:
    unlisted = {"Deny": "are rejected", "Warn": "are warned about", "Allow": "pass"}
    yield f"* Configs of other kinds {unlisted[parsed.unknown_configs]}."
    yield from (f"* {text}" for text in _entry_rules(parsed.entries))
    for variable in parsed.variables:
        value = str(variable.value).lower() if variable.type == "bool" else variable.value
        yield f"* Variable `{variable.name}` ({variable.type}), `{value}` by default."


def _entry_rules(entries: EntryRules) -> Iterator[str]:
    precedence = {
        "LastWins": "Of several entries for one request the last one counts.",
        "FirstWins": "Of several entries for one request the first one counts.",
        "Merge": "Later entries override single fields of earlier ones.",
        "ExactlyOne": "Several entries for one request are rejected.",
    }
    yield precedence[entries.precedence]
    if entries.requests_required:
        yield "An entry that names no requests is ignored by the driver: warned about."
    if entries.classes_ignored:
        yield "An entry in a DeviceClass is ignored by the driver: warned about."
    if not entries.main_covers_subrequests:
        yield "An entry that names a request with alternatives does not reach them: warned about."


def _config(config: ConfigSpec) -> Iterator[str]:
    yield f"### {_kind(config)}"
    yield ""
    sources = {frozenset({CLAIM}): "Only in claims. ", frozenset({CLASS}): "Only in classes. "}
    unknown = {"Deny": "rejected", "Warn": "warned about", "Allow": "accepted"}
    yield f"{sources.get(config.sources, '')}Unknown fields are {unknown[config.unknown_fields]}."
    if config.refused_classes:
        named = " and ".join(f"`{name}`" for name in sorted(config.refused_classes))
        yield f"Rejected for requests of the DeviceClasses {named}."
    fields = list(_fields(config.schema, ""))
    if fields:
        yield ""
        yield "| field | type | rule |"
        yield "|---|---|---|"
        yield from fields
    if config.rules:
        yield ""
        yield from (f"* {_rule(rule)}" for rule in config.rules)


def _kind(config: ConfigSpec) -> str:
    if not config.api_version:
        return "any (no apiVersion, no kind)"
    return f"`{config.api_version}` {config.kind or '(no kind)'}"


def _fields(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    required = schema.get("required") or []
    for name, child in (schema.get("properties") or {}).items():
        place = f"{path}.{name}".lstrip(".")
        words = ["required"] if name in required else []
        yield f"| `{place}` | {_type(child)} | {_cell('; '.join(words + _limits(child)))} |"
        yield from _fields(child, place)
        if isinstance(child.get("items"), dict):
            yield from _fields(child["items"], f"{place}[]")


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return str(schema.get("format", "int or string"))
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}"
    if isinstance(schema.get("items"), dict):
        return f"list of {_type(schema['items'])}"
    return str(schema.get("format") or schema.get("type", "any"))


def _limits(schema: Mapping[str, Any]) -> list[str]:
    words = []
    if "enum" in schema:
        words.append(", ".join(f"`{value}`" if value != "" else '""' for value in schema["enum"]))
    below = "below" if schema.get("exclusiveMaximum") else "at most"
    names = {"minimum": "at least", "maximum": below, "maxLength": "at most", "maxItems": "at most"}
    units = {"maxLength": " characters", "maxItems": " items"}
    words += [f"{names[w]} {schema[w]}{units.get(w, '')}" for w in names if w in schema]
    if "pattern" in schema:
        words.append(f"matches `{schema['pattern']}`")
    rules = schema.get("x-kubernetes-validations") or []
    words += [str(rule.get("message", rule["rule"])) for rule in rules]
    words += [str(schema["description"]).rstrip(".")] if "description" in schema else []
    return words


def _rule(rule: Mapping[str, Any]) -> str:
    place = f"`{rule['fieldPath'].lstrip('.')}`: " if rule.get("fieldPath") else ""
    warning = " (warning)" if rule.get("severity") == "Warning" else ""
    return f"{place}{rule.get('message', rule['rule'])}{warning}"


def _annotation(document: Mapping[str, Any], name: str) -> str:
    return str(document["metadata"].get("annotations", {}).get(name, ""))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
