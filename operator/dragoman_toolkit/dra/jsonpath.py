"""JSONPath as kubectl has it: `{.classes[*].name}`, with filters, ranges and literals.

Source: client-go's util/jsonpath.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Step = Callable[[list[Any], Any], list[Any]]
_TOKEN = re.compile(
    r"""\.\.(?P<deep>[\w/-]+) | \.?(?P<wild>\*|\[\*\]) | \.(?P<field>(?:\\.|[\w/-])+)
    | \.?\[(?P<index>-?\d+)\] | \[(?P<slice>-?\d*:-?\d*)\]
    | \.?\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\] | \[\?\((?P<filter>.*?)\)\]""",
    re.VERBOSE,
)
_COMPARED = re.compile(r"^\s*@(?P<left>[^=!<>]*?)\s*(?:(?P<by>==|!=|<=|>=|<|>)\s*(?P<right>.+))?$")
_BY: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


class JSONPathError(ValueError):
    """A template that is no JSONPath; the message says where."""


def path(text: str) -> Callable[[Any], list[Any]]:
    """Compile one path, such as `.classes[*].name` or `{.name}`; raise JSONPathError."""
    inner = text.strip().removeprefix("{").removesuffix("}").strip().lstrip("$@")
    if inner and inner[0] not in ".[":
        inner = f".{inner}"
    steps: list[Step] = []
    at = 0
    while at < len(inner):
        found = _TOKEN.match(inner, at)
        if found is None:
            if inner[at:] == ".":
                break
            raise JSONPathError(f"JSONPath {text!r}: cannot be read from {inner[at:]!r} on")
        steps.append(_step(found))
        at = found.end()

    def evaluate(root: Any) -> list[Any]:
        values = [root]
        for step in steps:
            values = step(values, root)
        return values

    return evaluate


def template(text: str) -> Callable[[Any], str]:
    """Compile a template of `{…}` and literal text; raise JSONPathError."""
    tokens = re.findall(r"\{(?:[^{}\"']|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*')*\}|[^{}]+|[{}]", text)
    parts, rest = _parts(iter(tokens), within=False)
    if rest:
        raise JSONPathError(f"JSONPath {text!r}: {{end}} without {{range}}")
    return lambda root: "".join(part(root) for part in parts)


Part = Callable[[Any], str]


def _parts(tokens: Iterator[str], *, within: bool) -> tuple[list[Part], bool]:
    parts: list[Part] = []
    for token in tokens:
        inner = token[1:-1].strip() if token.startswith("{") and token.endswith("}") else None
        if token in ("{", "}"):
            raise JSONPathError("JSONPath: unclosed action, or a brace too many")
        if inner is None:
            parts.append(_literal(token))
        elif inner == "end":
            return parts, True
        elif inner.startswith("range "):
            body, ended = _parts(tokens, within=True)
            if not ended:
                break
            parts.append(_range(path(inner.removeprefix("range ")), body))
        elif inner[:1] in ("'", '"'):
            parts.append(_literal(_unquoted(inner)))
        else:
            parts.append(_joined(path(inner)))
    else:
        if not within:
            return parts, False
    raise JSONPathError("JSONPath: {range} without {end}")


def _literal(text: str) -> Part:
    return lambda _: text


def _joined(values: Callable[[Any], list[Any]]) -> Part:
    return lambda root: " ".join(map(printed, values(root)))


def _range(values: Callable[[Any], list[Any]], body: list[Part]) -> Part:
    return lambda root: "".join(part(one) for one in values(root) for part in body)


def printed(value: Any) -> str:
    """Return a value as kubectl prints it: texts as they are, others as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text[1:-1]}"'))
    except ValueError:
        raise JSONPathError(f"JSONPath: {text} is no text") from None


def _step(found: re.Match[str]) -> Step:
    kind = found.lastgroup
    if kind == "wild":
        return lambda values, _: [one for value in values for one in _children(value)]
    if kind == "index":
        at = int(found["index"])
        return lambda values, _: [
            one[at] for one in values if isinstance(one, list) and -len(one) <= at < len(one)
        ]
    if kind == "slice":
        first, _, last = found["slice"].partition(":")
        part = slice(int(first) if first else None, int(last) if last else None)
        return lambda values, _: [x for one in values if isinstance(one, list) for x in one[part]]
    if kind == "filter":
        return _filter(found["filter"])
    if kind == "deep":
        name = found["deep"]
        return lambda values, _: [one for value in values for one in _deep(value, name)]
    name = found["key"] if found["key"] is not None else found["field"].replace("\\", "")
    return lambda values, _: [one[name] for one in values if isinstance(one, dict) and name in one]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _deep(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict) and name in value:
        yield value[name]
    for one in _children(value):
        yield from _deep(one, name)


def _filter(text: str) -> Step:
    found = _COMPARED.match(text)
    if found is None:
        raise JSONPathError(f'JSONPath: filter {text!r}: expected a form such as @.name=="x"')
    left = path(found["left"] or ".")
    if not found["by"]:
        return lambda values, _: [x for one in values for x in _children(one) if left(x)]
    by = _BY[found["by"]]
    raw = found["right"].strip()
    try:
        right = _unquoted(raw) if raw[:1] in ("'", '"') else json.loads(raw)
    except ValueError:
        raise JSONPathError(f"JSONPath: filter {text!r}: {raw!r} is no value") from None

    def meets(value: Any) -> bool:
        try:
            return any(by(one, right) for one in left(value))
        except TypeError:
            return False

    return lambda values, _: [x for one in values for x in _children(one) if meets(x)]
