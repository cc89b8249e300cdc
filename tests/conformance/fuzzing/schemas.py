"""Random structural schemas, values that (mostly) fit them, and the paths that rules can take."""

from random import Random
from typing import Any

from tests.conformance.fuzzing.grammar import Type

Schema = dict[str, Any]
Fields = dict[str, list[tuple[Type, str]]]

_NAMES = ("a", "b", "name", "x-y", "a.b", "if", "namespace", "a__b", "c", "size", "a/b")
_FORMATS = ("date-time", "date", "duration", "byte", "uuid", "")
_FORMAT_TYPES = {
    "date-time": "timestamp",
    "date": "timestamp",
    "duration": "duration",
    "byte": "bytes",
}
_RESERVED = frozenset({"if", "namespace", "true", "for", "in"})
_ESCAPES = (
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
)
_TEXTS = {
    "date-time": (
        "2024-01-01T00:00:00Z",
        "2024-06-15T12:30:00.5+02:00",
        "x",
        "2024-01-01T25:00:00Z",
        "2024-01-01T1:2:03",
    ),
    "date": ("2024-01-01", "2024-02-30", "2024-13-01", "2024-1-01", "2024-01-01x"),
    "duration": ("1h", "90s", "1 day", "x"),
    "byte": ("aGk=", "", "%", "aGk", "aGk=x", "aG=k", "a"),
}


def escaped(name: str) -> str:
    """Write a property's name as expressions must."""
    if name in _RESERVED:
        return f"__{name}__"
    for plain, escape in _ESCAPES:
        name = name.replace(plain, escape)
    return name


def object_schema(random: Random, depth: int) -> Schema:
    """Return a schema of an object with a few properties."""
    names = random.sample(_NAMES, random.randrange(1, 5))
    properties = {name: schema(random, depth - 1) for name in names}
    found: Schema = {"type": "object", "properties": properties}
    if random.random() < 0.4:
        found["required"] = [random.choice(names)]
    if random.random() < 0.1:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


def schema(random: Random, depth: int) -> Schema:
    """Return a schema of any kind."""
    scalars = (_string, _integer, _number, _boolean, _int_or_string)
    containers = (_array, _map, object_schema, _map_list, _set_list)
    if depth > 0 and random.random() < 0.45:
        found = random.choice(containers)(random, depth)
    else:
        found = random.choice(scalars)(random)
    if random.random() < 0.08:
        found["nullable"] = True
    return found


def _string(random: Random) -> Schema:
    found: Schema = {"type": "string"}
    form = random.choice(_FORMATS) if random.random() < 0.35 else ""
    if form:
        found["format"] = form
    elif random.random() < 0.4:
        found["maxLength"] = random.choice((0, 5, 63, 1000))
    elif random.random() < 0.3:
        found["enum"] = ["a", "abc"]
    return found


def _integer(random: Random) -> Schema:
    return {"type": "integer"} | random.choice(({}, {"format": "int32"}, {"format": "int64"}))


def _number(_: Random) -> Schema:
    return {"type": "number"}


def _boolean(_: Random) -> Schema:
    return {"type": "boolean"}


def _int_or_string(_: Random) -> Schema:
    return {"x-kubernetes-int-or-string": True}


def _array(random: Random, depth: int) -> Schema:
    return {"type": "array", "items": schema(random, depth - 1)} | _bound(random, "maxItems")


def _map(random: Random, depth: int) -> Schema:
    inner = schema(random, depth - 1)
    return {"type": "object", "additionalProperties": inner} | _bound(random, "maxProperties")


def _map_list(random: Random, depth: int) -> Schema:
    items = object_schema(random, depth - 1)
    items["properties"]["name"] = {"type": "string"}
    items["required"] = ["name"]
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    } | _bound(random, "maxItems")


def _set_list(random: Random, _: int) -> Schema:
    items = random.choice((_string, _integer))(random)
    return {"type": "array", "items": items, "x-kubernetes-list-type": "set"}


def _bound(random: Random, name: str) -> Schema:
    return {name: random.choice((3, 10, 100))} if random.random() < 0.6 else {}


def value(random: Random, form: Schema) -> Any:
    """Return a value that fits a schema, once in a while one that does not."""
    if random.random() < 0.01:
        return random.choice((1, "x", None, [], {}))
    if form.get("nullable") and random.random() < 0.3:
        return None
    if form.get("x-kubernetes-int-or-string"):
        return random.choice((0, 5, "50%", "a"))
    match form["type"]:
        case "string":
            return _text(random, form)
        case "integer":
            return random.choice((0, 1, -1, 5, 42, 9223372036854775807))
        case "number":
            return random.choice((0, 1, 1.5, -2.25, 3.0, 1e10))
        case "boolean":
            return random.random() < 0.5
        case "array":
            return _list(random, form)
        case _:
            return _object(random, form)


def _text(random: Random, form: Schema) -> str:
    if form.get("format") in _TEXTS:
        texts = _TEXTS[form["format"]]
        return texts[0] if random.random() < 0.7 else random.choice(texts)
    return random.choice(("", "a", "abc", "é", "a,b", "1Gi", "10.0.0.1"))


def _list(random: Random, form: Schema) -> list[Any]:
    items = [value(random, form["items"]) for _ in range(random.randrange(4))]
    if form.get("x-kubernetes-list-type") == "map":
        for index, item in enumerate(items):
            if isinstance(item, dict):
                item["name"] = f"n{index}"
    return items


def _object(random: Random, form: Schema) -> dict[str, Any]:
    if "additionalProperties" in form:
        names = random.sample(("k", "a", "x-y", "b"), random.randrange(4))
        return {name: value(random, form["additionalProperties"]) for name in names}
    present = {
        name: value(random, inner)
        for name, inner in form.get("properties", {}).items()
        if name in form.get("required", ()) or random.random() < 0.8
    }
    if form.get("x-kubernetes-preserve-unknown-fields"):
        present["unknown"] = 1
    return present


class Paths:
    """What expressions can reach from `self`.

    Attributes:
        roots: paths with their types.
        fields: for each type of object, its fields with their types.
    """

    def __init__(self, form: Schema, *, names: tuple[str, ...]) -> None:
        self.fields: Fields = {}
        self.roots: list[tuple[Type, str]] = []
        kind = self.type_of(form)
        for name in names:
            self._walk(kind, name, 3)

    def type_of(self, form: Schema) -> Type:
        """Return the type that a schema gives to a value."""
        if form.get("x-kubernetes-int-or-string"):
            return ("int",)
        match form["type"]:
            case "string":
                return (_FORMAT_TYPES.get(form.get("format", ""), "string"),)
            case "integer":
                return ("int",)
            case "number":
                return ("double",)
            case "boolean":
                return ("bool",)
            case "array":
                return ("L", self.type_of(form["items"]))
            case _ if "additionalProperties" in form:
                return ("M", ("string",), self.type_of(form["additionalProperties"]))
        name = f"object{len(self.fields)}"
        self.fields[name] = []
        for field, inner in form.get("properties", {}).items():
            self.fields[name].append((self.type_of(inner), escaped(field)))
        return (name,)

    def _walk(self, kind: Type, path: str, depth: int) -> None:
        self.roots.append((kind, path))
        head = str(kind[0])
        for inner, field in self.fields.get(head, ()):
            self.roots.append((("bool",), f"has({path}.{field})"))
            self.roots.append((("O", inner), f"{path}.?{field}"))
            if depth:
                self._walk(inner, f"{path}.{field}", depth - 1)
