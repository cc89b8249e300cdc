"""The instruments of the webhook's benchmark: what is sent, and what is said of the results."""

import json
from pathlib import Path

import pytest

from dragoman_webhooks.admission import TooExpensiveError, review, review_configs
from dragoman_webhooks.cache import Caches
from dragoman_webhooks.executor import INLINE_STEPS
from tests.bench.webhook import endurance, hostile, report
from tests.bench.webhook.__main__ import SIDE_BY_SIDE
from tests.bench.webhook.bars import judge, table
from tests.bench.webhook.record import Record
from tests.bench.webhook.reviews import NUMBER
from tests.conformance.peer.serve import schemas

COUNT = "12345678"


def numbered(body: bytes) -> bytes:
    """Put a number where the load generator does."""
    return body.replace(NUMBER.encode(), COUNT.encode())


@pytest.mark.parametrize("scenario", sorted(SIDE_BY_SIDE))
def test_reviews_are_allowed_and_judged_by_a_schema(scenario: str) -> None:
    body, _ = SIDE_BY_SIDE[scenario]
    response = json.loads(review(numbered(body), schemas((), ())).body)["response"]
    assert response["allowed"] is True
    assert response["auditAnnotations"]["schemas"].startswith("gpu.example.com@")


def test_hostile_reviews_need_more_steps_than_are_taken_at_once(tmp_path: Path) -> None:
    registry = schemas([hostile.write(tmp_path)], ())
    assert not any(installed.broken for installed in registry.objects.values())
    for body in hostile.cases().values():
        with pytest.raises(TooExpensiveError):
            review_configs(numbered(body), registry, Caches(), INLINE_STEPS)


def test_the_endurance_run_has_its_number_of_schemas(tmp_path: Path) -> None:
    registry = schemas([endurance.write(tmp_path)], ())
    assert len(registry.objects) == endurance.SCHEMAS
    assert not any(installed.broken for installed in registry.objects.values())


@pytest.mark.parametrize(
    ("own", "other", "words"),
    [
        pytest.param(190, 100, ["1.90 x", "met"], id="within the bar"),
        pytest.param(300, 100, ["3 x", "missed by 50%"], id="beyond the bar"),
    ],
)
def test_a_bar_is_a_factor_to_the_vendors_number(
    own: float, other: float, words: list[str]
) -> None:
    record = Record("vendor")
    record.add("same-1", "dragoman", {"p50_us": own})
    record.add("same-1", "example", {"p50_us": other})
    [verdict] = [held.verdict for held in judge(record) if held.verdict.reached is not None]
    [row] = table(record).splitlines()[2:]
    cells = [cell.strip() for cell in row.split("|")]
    assert [cells[4], cells[6]] == words
    assert verdict.met is (own <= 2 * other)


def test_the_page_shows_what_was_recorded() -> None:
    page = report.PAGE.read_text()
    assert page == report.renewed(page, Record.read()), "run python -m tests.bench.webhook.report"
