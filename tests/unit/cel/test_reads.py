"""Which parts of a device a selector reads, for callers that remember its results by them."""

from typing import Any

import pytest

from dragoman_cel import selectors
from dragoman_cel.errors import EvaluationError

DEVICE = 'device.attributes["a.example.com"]'


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ('device.driver == "x"', {("driver",)}),
        (f"{DEVICE}.model.startsWith('h')", {("attributes", "a.example.com", "model")}),
        (f"has({DEVICE}.model)", {("attributes", "a.example.com", "model")}),
        (f"{DEVICE}.?index.orValue(0) > 1", {("attributes", "a.example.com", "index")}),
        (f'{DEVICE}[?"index"].orValue(0) > 1', {("attributes", "a.example.com", "index")}),
        (
            'device.capacity["c"].memory == quantity("1") && device.allowMultipleAllocations',
            {("capacity", "c", "memory"), ("allowMultipleAllocations",)},
        ),
        (f"[1, 2].exists(n, {DEVICE}.index == n)", {("attributes", "a.example.com", "index")}),
        ("true", set()),
    ],
)
def test_constant_paths_are_named(expression: str, reads: set[tuple[str, ...]]) -> None:
    assert selectors.compile(expression).reads == frozenset(reads)


@pytest.mark.parametrize(
    "expression",
    [
        '"a.example.com" in device.attributes',
        f"cel.bind(d, {DEVICE}, d.model == 'x')",
        f"{DEVICE}.exists(name, name == 'x')",
        f"{DEVICE}[device.driver] == 1",
    ],
)
def test_anything_else_reads_the_whole_device(expression: str) -> None:
    assert selectors.compile(expression).reads is None


OWN, OTHER = "a.example.com", "b.example.com"
DEVICES: dict[str, dict[str, Any]] = {
    "empty": {},
    "plain": {"attributes": {"x": {"int": 1}}, "capacity": {"m": {"value": "1Gi"}}},
    "qualified": {
        "attributes": {f"{OWN}/x": {"int": 2}, f"{OTHER}/x": {"string": "1"}},
        "capacity": {f"{OWN}/m": {"value": "2Gi"}},
        "allowMultipleAllocations": True,
    },
    "both spellings": {
        "attributes": {"x": {"int": 1}, f"{OWN}/x": {"int": 2}},
        "capacity": {"m": {"value": "1Gi"}, f"{OWN}/m": {"value": "2Gi"}},
    },
    "unusable": {"attributes": {"x": {}, "y": {"int": 1}}},
    "unusable beside": {"attributes": {"x": {"int": 1}, "y": {"version": "one"}}},
    "unusable qualified": {"attributes": {"x": {"int": 1}, f"{OWN}/x": {"ints": []}}},
    "list": {"attributes": {"x": {"ints": [1, 2]}}},
    "no map": {"attributes": ["x"], "capacity": ["m"]},
}


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize(
    "expression",
    [
        f'device.attributes["{OWN}"].x == 1',
        f'device.attributes["{OWN}"].y == 1 || device.attributes["{OWN}"].x == 2',
        f'has(device.attributes["{OWN}"].x) && device.attributes["{OWN}"].x != 1',
        f'device.attributes["{OWN}"].?x.orValue(2) == 2',
        f'device.attributes["{OTHER}"][?"x"].orValue("1") == "1"',
        f'device.capacity["{OWN}"].m.isGreaterThan(quantity("1Gi"))',
        f'device.allowMultipleAllocations && device.capacity["{OWN}"].m == quantity("2Gi")',
    ],
)
def test_what_is_read_alone_is_as_in_the_whole_device(
    expression: str, device: dict[str, Any]
) -> None:
    selector = selectors.compile(expression, kubernetes="1.38")
    assert selector.reads is not None
    whole = selector.prepare(device, driver=OWN)
    assert answer(selector, device) == answer(selector, whole)


def test_a_quantity_that_no_api_server_stores_fails_only_who_reads_it() -> None:
    device = {"capacity": {"m": {"value": "much"}}}
    reads = selectors.compile(f'has(device.capacity["{OWN}"].m)', kubernetes="1.38")
    other = selectors.compile(f'device.driver == "{OWN}"', kubernetes="1.38")
    assert answer(reads, device) == answer(reads, reads.prepare(device, driver=OWN))
    assert "capacity m: quantities must" in str(answer(reads, device)[0])
    assert answer(other, device) == (True, 0)


def answer(selector: selectors.Selector, device: Any) -> tuple[object, int]:
    """Return the result or the error, and its cost."""
    try:
        return selector.matches(device, driver=OWN), 0
    except EvaluationError as error:
        return str(error), error.cost
