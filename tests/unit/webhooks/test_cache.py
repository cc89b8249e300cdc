"""The caches: bounded in bytes, correct from several threads."""

import json
import tracemalloc
from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.admission import review
from dragoman_webhooks.cache import LIMIT_BYTES, BoundedCache, Caches
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import REGISTRY, claim


def written(document: builders.Json) -> bytes:
    return json.dumps(builders.review(document)).encode()


def test_a_full_cache_evicts_the_oldest_entries() -> None:
    cache: BoundedCache[str, int] = BoundedCache(lambda _, value: value, limit=10)
    for name, weight in (("a", 4), ("b", 4), ("c", 2), ("d", 3)):
        cache[name] = weight
    assert list(cache) == ["b", "c", "d"]
    cache["e"] = 11
    assert len(cache) == 0


@pytest.mark.parametrize(
    "leaf",
    [
        pytest.param({"type": "string"}, id="errors"),
        pytest.param({"type": "object"}, id="warnings"),
    ],
)
def test_cached_results_take_no_more_memory_than_the_limit(leaf: dict[str, Any]) -> None:
    def wrong(number: int) -> dict[str, Any]:
        deep: Any = {"ж" * 30 + str(number + n): {} for n in range(40)}
        for _ in range(26):
            deep = {"ж" * 50: deep}
        return claim({**worlds.KIND, "deep": deep})

    schema: dict[str, Any] = {"type": "object", "additionalProperties": leaf}
    if leaf["type"] == "object":
        schema = leaf
    for _ in range(26):
        schema = {"type": "object", "additionalProperties": schema}
    config = worlds.config({"deep": schema}, unknownFields="Warn")
    registry, caches = worlds.registry(worlds.schema(config)), Caches(LIMIT_BYTES // 4)
    review(written(wrong(0)), registry, caches)
    tracemalloc.start()
    try:
        for number in range(1, 25):
            review(written(wrong(number)), registry, caches)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < len(caches.results) < 24
    assert taken < LIMIT_BYTES // 2


def test_entries_cached_at_the_same_time_count_against_the_limit() -> None:
    def weight(name: str, value: int) -> int:
        if name == "slow" and "quick" not in cache:
            cache["quick"] = 6
        return value

    cache: BoundedCache[str, int] = BoundedCache(weight, limit=10)
    cache["slow"] = 6
    assert list(cache) == ["slow"]


def test_a_review_with_an_older_registry_uses_no_response_of_a_newer_one() -> None:
    class Interrupted(Caches):
        """Another thread asks for its registry while this one changes the cache."""

        newer = REGISTRY

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "_responses" and value[0] is older:
                self.responses(self.newer)

    older = Registry()
    caches = Interrupted()
    older_cache = caches.responses(older)
    assert caches.responses(REGISTRY) is not older_cache
