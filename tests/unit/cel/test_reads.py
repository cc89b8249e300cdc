"""Which parts of a device a selector reads, for callers that remember its results by them."""

import pytest

from dragoman_cel import selectors

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
