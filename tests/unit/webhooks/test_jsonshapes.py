"""JSON of hostile shapes: no invalid config is allowed, and what is JSON is denied by its place."""

import json

import pytest

from tests.support.hostile import Tries
from tests.support.worlds.reviews import claim, review
from tests.unit.webhooks.harness import field, serving
from tests.unit.webhooks.jsonshapes import PARAMETERS, PLACES, with_parameters

pytestmark = pytest.mark.hostile("shapes of JSON")
PLACE = "spec.devices.config[1].opaque.parameters"


def is_json(text: bytes) -> bool:
    """Whether the API server would pass the text on: any bytes in strings, any numbers."""
    try:
        json.loads(text.decode(errors="replace"), parse_constant=int)
    except RecursionError:
        return text.count(b"[") == text.count(b"]")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("group", PARAMETERS)
async def test_parameters_are_denied_by_their_place_wherever_they_are_json(
    group: str, tries: Tries
) -> None:
    """An HTTP error would leave the decision to failurePolicy; it answers only invalid JSON."""
    shapes = PARAMETERS[group]
    tries(len(shapes))
    wrong = {}
    async with serving() as client:
        for name, text in shapes.items():
            status, answer = await client.post(with_parameters(text))
            if status == 400 and not is_json(text):
                assert '"allowed"' not in answer
                continue
            response = json.loads(answer)["response"] if status == 200 else {}
            if response.get("allowed") is not False or not field(response).startswith(PLACE):
                wrong[name] = (status, answer[:300])
        assert (await client.reviewed(review(claim())))["allowed"] is True
    assert wrong == {}


async def test_nothing_around_a_config_lets_it_in(tries: Tries) -> None:
    tries(len(PLACES))
    wrong = {}
    async with serving() as client:
        for name, body in PLACES.items():
            status, answer = await client.post(body)
            if status == 400 and '"allowed"' not in answer:
                continue
            if status != 200 or json.loads(answer)["response"]["allowed"]:
                wrong[name] = (status, answer[:300])
        assert (await client.reviewed(review(claim())))["allowed"] is True
    assert wrong == {}


async def test_a_review_that_repeats_a_key_is_refused_by_the_key() -> None:
    async with serving() as client:
        status, answer = await client.post(PLACES["two operations, the last deletes"])
    assert (status, answer) == (
        400,
        "request.operation: expected the key once, found it repeated",
    )
