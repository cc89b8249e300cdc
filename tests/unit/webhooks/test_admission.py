"""Reviews and what is remembered of them: fast, and never another answer for it."""

import json
import tracemalloc
from typing import Any

import pytest

from dragoman.driverconfigs.registry import Registry
from dragoman_webhooks.admission import TooDear, answer, quick_answer
from dragoman_webhooks.cache import LIMIT_BYTES, BoundedMemory, Memories
from tests.unit.driverconfigs import builders as worlds
from tests.unit.webhooks.reviews import BAD, GOOD, REGISTRY, claim, review

Json = dict[str, Any]
DEAR = worlds.registry(
    worlds.schema(
        worlds.config(
            {
                "v": {
                    "type": "array",
                    "items": {
                        "type": "integer",
                        "anyOf": [{"minimum": bound} for bound in range(2, 102)],
                    },
                }
            }
        )
    )
)


def body(document: Json | None, *rest: Any, **request: Any) -> bytes:
    return json.dumps(review(document, *rest, **request)).encode()


def response(given: Any) -> Json:
    assert given is not None
    found: Json = json.loads(given.body)["response"]
    return found


@pytest.mark.parametrize("parameters", [GOOD, BAD, {**GOOD, "x": 1}, {}], ids=str)
def test_what_is_remembered_is_what_would_be_found_again(parameters: Json) -> None:
    memories = Memories()
    for name in ("one", "two", "three"):
        document = {**claim(parameters), "metadata": {"name": name}}
        request = body(document, name=name, uid=name)
        fresh = answer(request, REGISTRY)
        assert answer(request, REGISTRY, memories) == fresh
        assert quick_answer(request, REGISTRY, memories) == fresh
        assert response(fresh)["uid"] == name
    assert len(memories.opinions(REGISTRY)) == 1


def test_a_refusal_tells_the_value_to_people_and_not_to_controllers() -> None:
    memories = Memories()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid", "controller": True}
    generated = claim({**GOOD, "level": "SECRET"})
    generated["metadata"] = {"name": "one", "ownerReferences": [owner]}
    own = {**generated, "metadata": {"name": "one", "ownerReferences": "none"}}
    for _ in range(2):
        told = response(answer(body(generated), REGISTRY, memories))
        assert "level" in told["status"]["message"]
        assert "SECRET" not in json.dumps(told)
        assert "SECRET" in response(answer(body(own), REGISTRY, memories))["status"]["message"]


def test_a_refusal_from_memory_names_its_own_object() -> None:
    memories = Memories()
    for name in ("one", "two"):
        given = response(answer(body(claim(BAD), name=name), REGISTRY, memories))
        assert given["status"]["details"]["name"] == name
        assert given["status"]["details"]["kind"] == "ResourceClaim"


def test_another_registry_is_asked_anew() -> None:
    memories, request = Memories(), body(claim(BAD))
    changed = worlds.schema(worlds.config({"level": {"type": "string"}}))
    changed["metadata"]["generation"] = 2
    later = worlds.registry(changed)
    assert not response(answer(request, REGISTRY, memories))["allowed"]
    assert response(answer(request, Registry(), memories))["allowed"]
    assert response(answer(request, later, memories))["allowed"]
    assert not response(answer(request, REGISTRY, memories))["allowed"]


def test_updates_and_deletions_are_not_taken_for_what_was_created() -> None:
    memories = Memories()
    leaving = {**claim(BAD), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert response(answer(body(leaving, "UPDATE", leaving), REGISTRY, memories))["allowed"]
    assert response(answer(body(claim(BAD), "UPDATE", claim(BAD)), REGISTRY, memories))["allowed"]
    assert not response(answer(body(claim(BAD)), REGISTRY, memories))["allowed"]
    assert response(answer(body(claim(BAD), "UPDATE", claim(BAD)), REGISTRY, memories))["allowed"]
    assert response(answer(body(None, "DELETE", claim(BAD)), REGISTRY, memories))["allowed"]


def test_a_claim_and_a_class_with_the_same_configs_are_two_things() -> None:
    only_claims = worlds.config({"level": {"type": "integer"}}, allowedSources=["Claim"])
    registry, memories = worlds.registry(worlds.schema(only_claims)), Memories()
    as_claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}}
    as_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {}}
    holder = {"config": [worlds.entry(GOOD)]}
    for _ in range(2):
        claimed = answer(body({**as_claim, "spec": {"devices": holder}}), registry, memories)
        classed = answer(body({**as_class, "spec": holder}), registry, memories)
        assert (response(claimed)["allowed"], response(classed)["allowed"]) == (True, False)


def test_a_dear_review_is_given_up_at_once_and_finished_later() -> None:
    memories, request = Memories(), body(claim({**worlds.KIND, "v": [1] * 500}))
    with pytest.raises(TooDear):
        quick_answer(request, DEAR, memories)
    full = answer(request, DEAR, memories)
    assert not response(full)["allowed"]
    assert quick_answer(request, DEAR, memories) == full


def test_schemas_are_never_compiled_at_once() -> None:
    schema = worlds.schema(worlds.config())
    assert quick_answer(body(schema), REGISTRY, Memories()) is None
    assert response(answer(body(schema), REGISTRY))["allowed"]


def test_a_memory_forgets_the_oldest_when_it_is_full() -> None:
    memory: BoundedMemory[str, int] = BoundedMemory(lambda _, value: value, limit=10)
    for name, weight in (("a", 4), ("b", 4), ("c", 2), ("d", 3)):
        memory[name] = weight
    assert list(memory) == ["b", "c", "d"]
    memory["e"] = 11
    assert len(memory) == 0


@pytest.mark.parametrize(
    "leaf",
    [
        pytest.param({"type": "string"}, id="errors"),
        pytest.param({"type": "object"}, id="warnings"),
    ],
)
def test_what_is_remembered_takes_no_more_memory_than_the_limits(leaf: dict[str, Any]) -> None:
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
    registry, memories = worlds.registry(worlds.schema(config)), Memories(LIMIT_BYTES // 4)
    answer(body(wrong(0)), registry, memories)
    tracemalloc.start()
    try:
        for number in range(1, 25):
            answer(body(wrong(number)), registry, memories)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < len(memories.judgements) < 24
    assert taken < LIMIT_BYTES // 2


def test_what_is_remembered_at_the_same_time_counts_to_the_limit() -> None:
    def weight(name: str, value: int) -> int:
        if name == "slow" and "quick" not in memory:
            memory["quick"] = 6
        return value

    memory: BoundedMemory[str, int] = BoundedMemory(weight, limit=10)
    memory["slow"] = 6
    assert list(memory) == ["slow"]


def test_a_review_with_an_older_registry_adds_nothing_to_what_a_newer_one_found() -> None:
    class Interrupted(Memories):
        """Another thread asks just when this one has begun anew."""

        newer = REGISTRY

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "_opinions" and value.registry is older:
                self.opinions(self.newer)

    older = Registry()
    memories = Interrupted()
    forgotten = memories.opinions(older)
    assert memories.opinions(REGISTRY) is not forgotten


def test_drivers_that_no_schema_describes_are_not_counted_by_name() -> None:
    entry = worlds.entry(GOOD)
    entry["opaque"]["driver"] += "x"
    given = answer(body(worlds.claim(entry)), REGISTRY)
    assert "did you mean" in response(given)["warnings"][0]
    assert given.drivers == ()
