"""AdmissionReviews in and out; a cached response is the one that a fresh review would give."""

import json
from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.admission import Costly, TooExpensiveError, review, review_configs
from dragoman_webhooks.cache import Caches
from dragoman_webhooks.executor import INLINE_STEPS
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds import reviews as builders
from tests.support.worlds.reviews import BAD, GOOD, REGISTRY, claim

Json = dict[str, Any]
EXPENSIVE = worlds.registry(
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
    return json.dumps(builders.review(document, *rest, **request)).encode()


def response(given: Any) -> Json:
    assert given is not None
    found: Json = json.loads(given.body)["response"]
    return found


@pytest.mark.parametrize("parameters", [GOOD, BAD, {**GOOD, "x": 1}, {}], ids=str)
def test_a_cached_response_equals_a_fresh_one(parameters: Json) -> None:
    caches = Caches()
    for name in ("one", "two", "three"):
        document = {**claim(parameters), "metadata": {"name": name}}
        request = body(document, name=name, uid=name)
        fresh = review(request, REGISTRY)
        assert review(request, REGISTRY, caches) == fresh
        assert review_configs(request, REGISTRY, caches) == fresh
        assert response(fresh)["uid"] == name
    assert len(caches.responses(REGISTRY)) == 1


def test_a_denial_shows_the_value_to_people_and_not_to_controllers() -> None:
    caches = Caches()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid", "controller": True}
    generated = claim({**GOOD, "level": "SECRET"})
    generated["metadata"] = {"name": "one", "ownerReferences": [owner]}
    own = {**generated, "metadata": {"name": "one", "ownerReferences": "none"}}
    for _ in range(2):
        answered = response(review(body(generated), REGISTRY, caches))
        assert "level" in answered["status"]["message"]
        assert "SECRET" not in json.dumps(answered)
        assert "SECRET" in response(review(body(own), REGISTRY, caches))["status"]["message"]


def test_a_cached_denial_names_its_own_object() -> None:
    caches = Caches()
    for name in ("one", "two"):
        given = response(review(body(claim(BAD), name=name), REGISTRY, caches))
        assert given["status"]["details"]["name"] == name
        assert given["status"]["details"]["kind"] == "ResourceClaim"


def test_another_registry_has_a_cache_of_its_own() -> None:
    caches, request = Caches(), body(claim(BAD))
    changed = worlds.schema(worlds.config({"level": {"type": "string"}}))
    changed["metadata"]["generation"] = 2
    later = worlds.registry(changed)
    assert not response(review(request, REGISTRY, caches))["allowed"]
    assert response(review(request, Registry(), caches))["allowed"]
    assert response(review(request, later, caches))["allowed"]
    assert not response(review(request, REGISTRY, caches))["allowed"]


def test_updates_and_deletions_do_not_use_the_response_of_a_creation() -> None:
    caches = Caches()
    leaving = {**claim(BAD), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert response(review(body(leaving, "UPDATE", leaving), REGISTRY, caches))["allowed"]
    assert response(review(body(claim(BAD), "UPDATE", claim(BAD)), REGISTRY, caches))["allowed"]
    assert not response(review(body(claim(BAD)), REGISTRY, caches))["allowed"]
    assert response(review(body(claim(BAD), "UPDATE", claim(BAD)), REGISTRY, caches))["allowed"]
    assert response(review(body(None, "DELETE", claim(BAD)), REGISTRY, caches))["allowed"]


def test_a_claim_and_a_class_with_the_same_configs_are_cached_apart() -> None:
    only_claims = worlds.config({"level": {"type": "integer"}}, allowedSources=["Claim"])
    registry, caches = worlds.registry(worlds.schema(only_claims)), Caches()
    as_claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}}
    as_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {}}
    holder = {"config": [worlds.entry(GOOD)]}
    for _ in range(2):
        claimed = review(body({**as_claim, "spec": {"devices": holder}}), registry, caches)
        classed = review(body({**as_class, "spec": holder}), registry, caches)
        assert (response(claimed)["allowed"], response(classed)["allowed"]) == (True, False)


def test_an_expensive_review_gives_up_and_is_cached_once_it_is_complete() -> None:
    caches, request = Caches(), body(claim({**worlds.KIND, "v": [1] * 500}))
    with pytest.raises(TooExpensiveError):
        review_configs(request, EXPENSIVE, caches, INLINE_STEPS)
    full = review(request, EXPENSIVE, caches)
    assert not response(full)["allowed"]
    assert review_configs(request, EXPENSIVE, caches) == full


def test_review_configs_never_compiles_a_schema() -> None:
    schema = worlds.schema(worlds.config())
    assert review_configs(body(schema), REGISTRY, Caches()) is Costly.SCHEMA
    assert response(review(body(schema), REGISTRY))["allowed"]


def test_drivers_that_no_schema_describes_are_not_counted_by_name() -> None:
    entry = worlds.entry(GOOD)
    entry["opaque"]["driver"] += "x"
    given = review(body(worlds.claim(entry)), REGISTRY)
    assert "did you mean" in response(given)["warnings"][0]
    assert given.drivers == ()
