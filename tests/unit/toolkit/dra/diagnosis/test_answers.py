"""Answers in random worlds of several drivers; `make test-answers` holds more of them."""

import pytest

from tests.answers.properties import faults

SEEDS = range(2_000, 2_048)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_properties_of_an_answer_hold(seed: int) -> None:
    assert [*faults(seed)] == []
