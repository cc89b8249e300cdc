"""dragoman foretells what drivers do, also where their vendors' own webhooks do not."""

import shutil

import pytest

from tests.conformance.peer import comparison, competitors, isolation
from tests.conformance.peer.cases import NEWER, TABLES, all_cases
from tests.support.controlplane import artifacts
from tests.support.worlds import configtables as tables

ROWS = comparison.rows(comparison.recorded())


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.case.driver}: {row.case.title}") for row in ROWS]
)
def test_dragoman_foretells_what_the_driver_does(row: comparison.Row) -> None:
    assert row.own in comparison.RIGHT[row.case.truth]


def test_what_is_left_out_as_newer_is_there() -> None:
    titles = {row.title for driver in TABLES for row in tables.cases(driver)}
    assert titles >= NEWER


def test_the_page_says_what_was_recorded() -> None:
    page = comparison.PAGE.read_text()
    text = comparison.section(ROWS)
    assert page == comparison.renewed(page, text), "run python -m tests.conformance.peer.comparison"


def obstacle() -> str:
    """Say why the vendors' webhooks cannot be asked, or nothing."""
    for vendor in comparison.VENDORS:
        assert vendor.recipe is not None
        target = artifacts.cache_root() / competitors.CACHE / vendor.recipe.name
        if not target.exists():
            return f"{target.name} is not built: make comparison"
    return isolation.obstacle() if shutil.which("unshare") else "util-linux is not installed"


@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
def test_the_vendors_webhooks_answer_what_was_recorded() -> None:
    assert comparison.asked(all_cases()) == comparison.recorded()
