"""Schemas that come and go: nothing that was kept for them outlives them."""

import gc
from collections import Counter
from typing import Any

import re2
from prometheus_client import generate_latest

from dragoman_cel.values.regex import Regex
from dragoman_configs.compile.compiler import CompiledSchema
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.parameters_validation import ValidationResult
from dragoman_webhooks import metrics
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds.reviews import review
from tests.unit.webhooks.harness import serving

HELD = (CompiledSchema, Regex, re2._Regexp, ValidationResult)
"""What schemas, their patterns and reviews of their configs are made of."""
BEFORE, AFTER = 20, 60
"""Schemas after which is counted what is alive."""


def driver(number: int) -> str:
    return f"g{number}.example.com"


def schema(number: int) -> dict[str, Any]:
    """Return a schema that no earlier one equals, for a driver of its own."""
    rules = [{"rule": f"self.matches('^r{number}-{one}')"} for one in range(4)]
    patterns = {f"p{one}": {"type": "string", "pattern": f"^p{number}-{one}"} for one in range(6)}
    ruled = {"r": {"type": "string", "x-kubernetes-validations": rules}}
    config = worlds.config({**patterns, **ruled})
    return worlds.schema(config, name=driver(number), driver=driver(number))


def alive() -> Counter[str]:
    gc.collect()
    found = (type(one) for one in gc.get_objects() if isinstance(one, HELD))
    return Counter(one.__name__ for one in found)


async def test_nothing_outlives_schemas_that_come_and_go() -> None:
    registry = Registry()
    held: list[Counter[str]] = []
    others = alive()  # of other tests in this process
    async with serving(lambda: registry) as client:
        for number in range(AFTER):
            response = await client.reviewed(review(schema(number)))
            assert response["allowed"] is True
            registry = worlds.registry(schema(number))
            for one in range(3):
                parameters = {**worlds.KIND, "p0": f"p{number}-0", "r": f"wrong {one}"}
                claim = worlds.claim(worlds.entry(parameters, driver(number)))
                assert (await client.reviewed(review(claim)))["allowed"] is False
            if number + 1 in {BEFORE, AFTER}:
                held.append(alive())
    before, after = held
    assert before == after
    assert before["CompiledSchema"] <= others["CompiledSchema"] + 1
    text = generate_latest(metrics.REGISTRY).decode()
    assert driver(AFTER - 1) in text
    assert driver(AFTER - 2) not in text
