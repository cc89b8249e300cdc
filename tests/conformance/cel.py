"""Run CEL vectors: recorded answers of the Kubernetes code, against dragoman_cel.

`python tests/conformance/cel.py FILE...` prints every difference and last `N passed, M failed`.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dragoman_base.versions import Version
from dragoman_cel import representation, rules, selectors, types
from dragoman_cel.data import BuiltMap, DefaultMap, Record
from dragoman_cel.environment import Environment
from dragoman_cel.errors import CompileError, CostLimitExceeded, EvaluationError
from dragoman_cel.representation import NONE, Optional
from dragoman_cel.types import Type
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.formats import NamedFormat
from dragoman_cel.values.ip import CIDR, IP
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.scalars import Uint
from dragoman_cel.values.semver import Semver
from dragoman_cel.values.timestamps import Timestamp
from dragoman_cel.values.url import URL

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance import cel_columns
from tests.conformance.cel_columns import RECORDED
from tests.support.gotexts import go_duration

LEFT_OUT = Path(__file__).with_name("cel_left_out.json")


Differences = dict[str, str]
"""The differing parts of an answer, with a text for each."""


class Verdict(NamedTuple):
    """One compared answer: its name and differences."""

    name: str
    differences: Differences

    @property
    def difference(self) -> str:
        """Return all differences, "" for none."""
        return "; ".join(f"{part}: {text}" for part, text in self.differences.items())


def run(path: Path) -> Iterator[Verdict]:
    """Compare every row of a file; its name says its kind."""
    data = json.loads(path.read_text())
    entries = json.loads(LEFT_OUT.read_text())
    left_out = {entry["case"]: entry["part"] for entry in entries if entry["file"] == path.name}
    columns = _recorded(path.name) if path.name in cel_columns.FILES else ()
    for name, differences in chain(_kind(path.name)(data), columns):
        part = left_out.get(name, "")
        if part != "whole answer":
            yield Verdict(name, {key: text for key, text in differences.items() if key != part})


def _kind(name: str) -> Any:
    for prefix, runner in _RUNNERS.items():
        if name.startswith(prefix):
            return runner
    raise SystemExit(f"{name}: no vectors of a known kind")


# Device selectors -------------------------------------------------------------------------------


def _device(row: dict[str, Any]) -> tuple[dict[str, Any], str]:
    device = {
        "attributes": row["attributes"],
        "capacity": {name: {"value": value} for name, value in row["capacity"].items()},
        "allowMultipleAllocations": row["allowMultipleAllocations"],
    }
    return device, row["driver"]


def _selector_answer(
    expression: str, where: tuple[dict[str, Any], str], **environment: Any
) -> dict[str, Any]:
    device, driver = where
    try:
        selector = selectors.compile(expression, **environment)
    except CompileError as error:
        return {"compile_error": error.message}
    answer: dict[str, Any] = {"max_cost": selector.max_cost}
    answer["type"] = selector.program.type.declared
    prepared = selector.prepare(device, driver=driver)
    try:
        answer["match"] = selector.matches(prepared)
        answer["actual_cost"] = selector.evaluate(prepared)[1]
    except EvaluationError as error:
        answer["match_error"] = error.message
        try:
            if isinstance(error, CostLimitExceeded):
                raise
            answer["actual_cost"] = selector.evaluate(prepared)[1]
        except EvaluationError as last:
            answer["actual_cost"] = last.cost
    return answer


def _dra(data: dict[str, Any]) -> Iterator[Verdict]:
    for row in data["vectors"]:
        if row["version"] in RECORDED:
            continue  # see `_recorded`
        for column, expected in row["observed"].items():
            answer = _selector_answer(
                row["expression"],
                _device(row),
                kubernetes=row["version"],
                list_attributes=column == "list_attributes_on",
                consumable_capacity=row["enable_consumable_capacity"],
                stored=row["env"] == "stored",
            )
            name = f"{row['name']}/{row['version']}/{column}"
            yield Verdict(name, _differences(expected, answer))


_COLUMNS: dict[str, dict[str, Any]] = {
    "k8s_1_36": {"kubernetes": "1.36"},
    "k8s_1_36_list_attributes": {"kubernetes": "1.36", "list_attributes": True},
}


def _dra_extended(data: dict[str, Any]) -> Iterator[Verdict]:
    devices = {name: _device(device) for name, device in data["devices"].items()}
    for row in data["vectors"]:
        for column, environment in _COLUMNS.items():
            answer = _selector_answer(row["expression"], devices[row["device"]], **environment)
            yield Verdict(f"{row['id']}/{column}", _differences(row[column], answer))


def _recorded(name: str) -> Iterator[Verdict]:
    """Compare the answers of newer versions, which the repository holds."""
    asked = {key: (text, _device(row)) for key, text, row in cel_columns.rows(name)}
    for kubernetes, files in cel_columns.recorded().items():
        for key, answers in files[name].items():
            for settings, expected in answers.items():
                for setting in settings.split("; "):
                    chosen = cel_columns.SETTINGS[setting]
                    answer = _selector_answer(
                        *asked[key],
                        kubernetes=kubernetes,
                        list_attributes=chosen.get("listAttributes", False),
                        stored=not chosen.get("newExpressions", False),
                    )
                    difference = _differences(expected, answer)
                    yield Verdict(f"{key}/{kubernetes}/{setting}", difference)


_PREFIXES = re.compile(r"^(compilation failed: |program: |program instantiation failed: )+")
_GENERATED = re.compile(r"selfType\d+")
_ANY_ATTRIBUTE = re.compile(r"^attribute \S+: unsupported")  # Go takes them in random order


def _plain(text: str) -> str:
    """Drop uncompared parts: prefixes, caret pictures, token lists, generated names."""
    text = _ANY_ATTRIBUTE.sub("attribute: unsupported", _PREFIXES.sub("", text))
    lines = [line for line in text.split("\n") if not line.startswith(" | ")]
    lines = [
        line.split("Syntax error:")[0] + "Syntax error" if "Syntax error" in line else line
        for line in lines
    ]
    if any("Syntax error" in line for line in lines):
        return "Syntax error"
    return _GENERATED.sub("selfType", "\n".join(sorted(set(lines))))


def _differences(expected: dict[str, Any], answer: dict[str, Any]) -> Differences:
    found: Differences = {}
    for key, value in expected.items():
        if key == "type" and "compile_error" in expected:
            continue  # the checker passed, the creation of the program failed
        got = answer.get(key, "nothing")
        if key in ("compile_error", "match_error", "error") and isinstance(got, str):
            if _plain(value) != _plain(got):
                found[key] = f"expected {value!r}, got {got!r}"
        elif got != value:
            found[key] = f"expected {value!r}, got {got!r} {answer.get('compile_error', '')}"
    return found


# The base environment ----------------------------------------------------------------------------


def _base(version: Version, variables: dict[str, Type]) -> Environment:
    return Environment(version, variables, {}, lambda _: None)


_plain_base = _base((1, 36), {})


def _base_answer(expression: str, bindings: dict[str, Any]) -> dict[str, Any]:
    environment = _plain_base
    if bindings:
        environment = _base((1, 36), dict.fromkeys(bindings, types.DYN))
    try:
        program = environment.compile(expression)
    except CompileError as error:
        return {"compile_error": error.message}
    answer: dict[str, Any] = {"type": program.type.declared}
    try:
        result, answer["actual_cost"] = program.evaluate(list(bindings.values()))
        answer["result"] = tagged(result)
    except EvaluationError as error:
        answer |= {"error": error.message, "actual_cost": error.cost}
    return answer


def tagged(value: Any) -> Any:
    """Write a value as the vectors do."""
    if value is None or type(value) is bool:
        return value
    if type(value) is Optional:
        return {"optional": "none" if value is NONE else tagged(value.value)}
    if type(value) is list:
        return {"list": [tagged(item) for item in value]}
    if type(value) in (dict, BuiltMap, DefaultMap, Record):
        return {"map": {_tagged_key(key): tagged(item) for key, item in value.items()}}
    write = _TAGS.get(type(value))
    assert write is not None, type(value)
    return write(value)


def _tagged_key(key: Any) -> str:
    value = representation.value_of(key)
    text = str(value).lower() if type(value) is bool else str(value)
    return f"{representation.type_name(value)}:{text}"


def _double(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(value)


def go_timestamp(timestamp: Timestamp) -> str:
    """Write a timestamp as Go's `String()`, such as `2024-01-01 00:00:00 +0200 +0200`."""
    text = str(timestamp).replace("T", " ")
    if timestamp.offset == 0:
        return text.replace("Z", " +0000 UTC")
    zone = text[-6:].replace(":", "")
    return f"{text[:-6]} {zone} {zone}"


_TAGS: dict[type, Any] = {
    int: lambda value: {"int": value},
    Uint: lambda value: {"uint": int(value)},
    float: lambda value: {"double": _double(value)},
    str: lambda value: {"string": value},
    bytes: lambda value: {"bytes": value.hex()},
    Quantity: lambda value: {"quantity": str(value)},
    Semver: lambda value: {"semver": str(value)},
    IP: lambda value: {"repr": str(value), "type": "net.IP"},
    CIDR: lambda value: {"repr": str(value), "type": "net.CIDR"},
    URL: lambda value: {"repr": str(value), "type": "kubernetes.URL"},
    NamedFormat: lambda value: {"repr": value.name, "type": "kubernetes.NamedFormat"},
    Duration: lambda value: {"repr": go_duration(value), "type": "google.protobuf.Duration"},
    Timestamp: lambda value: {"repr": go_timestamp(value), "type": "google.protobuf.Timestamp"},
    Type: lambda value: {"repr": value.name, "type": "type"},
}


def _normal(value: Any) -> Any:
    """Make doubles comparable: the vectors hold them as text."""
    if isinstance(value, dict):
        if set(value) == {"double"}:
            number = float(value["double"])
            return {"double": "NaN" if math.isnan(number) else number}
        return {key: _normal(item) for key, item in value.items()}
    return [_normal(item) for item in value] if isinstance(value, list) else value


def _base_differences(expected: dict[str, Any], answer: dict[str, Any]) -> Differences:
    if "result" in expected and "result" in answer:
        expected = {**expected, "result": _normal(expected["result"])}
        answer = {**answer, "result": _normal(answer["result"])}
    return _differences(expected, answer)


def _library(data: dict[str, Any]) -> Iterator[Verdict]:
    for row in data["vectors"]:
        answer = _base_answer(row["expression"], {})
        name = f"{row['lib']}: {row['expression']}"
        yield Verdict(name, _base_differences(row["k8s_1_36"], answer))


def _bound(value: Any) -> Any:
    """Read a tagged value of cel-spec."""
    if not isinstance(value, dict):
        return value
    (tag, inner), *_ = value.items()
    readers: dict[str, Any] = {
        "int": int, "uint": Uint, "double": float, "string": str, "bool": bool,
        "bytes": bytes.fromhex, "null": lambda _: None,
        "list": lambda items: [_bound(item) for item in items],
        "map": lambda pairs: {representation.key_of(_bound(k)): _bound(v) for k, v in pairs},
    }  # fmt: skip
    return readers[tag](inner)


def _spec(data: dict[str, Any]) -> Iterator[Verdict]:
    for row in data["vectors"]:
        if "k8s_1_36" not in row:
            continue
        bindings = {name: _bound(value) for name, value in row.get("bindings", {}).items()}
        answer = _base_answer(row["expr"], bindings)
        name = f"{row['file']}/{row['section']}/{row['name']}"
        yield Verdict(name, _base_differences(row["k8s_1_36"], answer))


# Validation rules ---------------------------------------------------------------------------------

_VALUE = re.compile(
    r'^\S+: (?:Invalid value: (?:"(?:[^"\\]|\\.)*"|[^:]*)|Forbidden|Required value): '
)


def _rule_level(ruleset: rules.RuleSet) -> rules.Rule | None:
    return ruleset.level.rules[0] if ruleset.level is not None and ruleset.level.rules else None


def _detail(error: str) -> str:
    """Cut `root: Invalid value: "object": detail` to the detail."""
    return _plain(_VALUE.sub("", error))


def _crd(data: dict[str, Any]) -> Iterator[Verdict]:
    for number, row in enumerate(data["vectors"]):
        schema = {
            **data["schemas"][row["schema"]],
            "x-kubernetes-validations": [{"rule": row["rule"]}],
        }
        ruleset = rules.compile(schema, path="root", resource_root=row["isRoot"])
        outcome = ruleset.outcome(row["self"], row["oldSelf"])
        found: Differences = {}
        expected = sorted(map(_detail, row["observed_errors"]))
        got = sorted(_plain(error.detail) for error in outcome.errors)
        if got != expected:
            found["errors"] = f"expected {expected}, got {got}"
        if outcome.cost != row["observed_cost"]:
            found["cost"] = f"expected {row['observed_cost']}, got {outcome.cost}"
        rule = _rule_level(ruleset)
        most = rule.program.max_cost if rule is not None and rule.program is not None else 0
        if row["observed_max_cost"] is not None and most != row["observed_max_cost"]:
            found["max_cost"] = f"expected {row['observed_max_cost']}, got {most}"
        yield Verdict(f"{number}: {row['test']}: {row['rule']}", found)


def _crd_extended(data: dict[str, Any]) -> Iterator[Verdict]:
    for row in data["vectors"]:
        schema = data["schemas"][row["schema"]]
        if row["rules"] is not None:
            schema = {**schema, "x-kubernetes-validations": row["rules"]}
        ruleset = rules.compile(schema, path="config", resource_root=row["isRoot"])
        outcome = ruleset.outcome(row["self"], row["oldSelf"])
        found: Differences = {}
        got = {(e.type, e.field, _plain(e.detail)) for e in outcome.errors}
        expected = {(e["type"], e["field"], _plain(e["detail"])) for e in row["observed"]["errors"]}
        if got != expected:
            found["errors"] = f"expected {sorted(expected)}, got {sorted(got)}"
        if outcome.cost != row["observed"]["cost"]:
            found["cost"] = f"expected {row['observed']['cost']}, got {outcome.cost}"
        yield Verdict(row["name"], found)


_RUNNERS: dict[str, Any] = {
    "crd-cel-vectors-extended": _crd_extended,
    "crd-cel-vectors": _crd,
    "dra-cel-vectors-extended": _dra_extended,
    "dra-cel-vectors": _dra,
    "k8s-lib-vectors": _library,
    "cel-spec-vectors": _spec,
}


def main(paths: list[str]) -> int:
    """Print differences and counts; return 1 if anything differs."""
    passed = failed = 0
    for path in paths:
        before = passed, failed
        for verdict in run(Path(path)):
            if verdict.difference:
                failed += 1
                print(f"{verdict.name}: {verdict.difference}")
            else:
                passed += 1
        print(f"{path}: {passed - before[0]} passed, {failed - before[1]} failed")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
