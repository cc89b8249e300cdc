"""The benchmark's bars, and that README and chart show what was measured."""

import pytest

from tests.bench.claims import chart, report
from tests.bench.claims.bars import Bar, verdict
from tests.bench.claims.record import Record, Result
from tests.bench.claims.table import faults, number, table
from tests.bench.explain import record as explained

RATE = Bar("catch-up", "catch-up", "claims_per_s", ">=", 1.5, "stock", "claims/s")
EXACT = Bar("writes", "POSTs a claim", "posts_per_claim", "==", 1)


def record(*results: tuple[str, str, dict[str, float]]) -> Record:
    made = [Result(scenario, who, values, (0.5, 1.0)) for scenario, who, values in results]
    return Record("v1.36.3", 1.0, results=made)


@pytest.mark.parametrize(
    ("own", "says"),
    [
        pytest.param(300.0, "met", id="reached exactly"),
        pytest.param(270.0, "missed by 10%", id="a tenth short"),
    ],
)
def test_a_ratio_is_judged_and_the_shortfall_is_told(own: float, says: str) -> None:
    measured = record(
        ("catch-up", "stock", {"claims_per_s": 200.0}),
        ("catch-up", "dragoman", {"claims_per_s": own}),
    )
    assert verdict(measured, RATE).says == says
    assert f"{number(own)} claims/s" in table(measured)


def test_a_ratio_without_the_other_number_is_not_measured() -> None:
    measured = record(("catch-up", "dragoman", {"claims_per_s": 1.0}))
    assert verdict(measured, RATE).says == "not measured"


def test_rates_are_medians_but_what_must_be_exact_must_be_so_in_each_run() -> None:
    runs = [("writes", "dragoman", {"posts_per_claim": posts}) for posts in (1.0, 1.25, 1.0)]
    rates = [("catch-up", "dragoman", {"claims_per_s": rate}) for rate in (1.0, 300.0, 9.0)]
    other = ("catch-up", "stock", {"claims_per_s": 3.0})
    measured = record(*runs, *rates, other)
    assert verdict(measured, RATE).reached == 3.0
    assert verdict(measured, EXACT).says == "missed by 25%"


@pytest.mark.parametrize(
    ("often", "says"),
    [
        ((1, 1), "one run, on"),
        ((3, 3), "medians of 3 runs, on"),
        ((1, 3), "medians of 1 to 3 runs, on"),
    ],
)
def test_it_says_how_often_was_measured(often: tuple[int, int], says: str) -> None:
    once, again = often
    row = {"claims_per_s": 1.0}
    measured = record(*[("life", "raw", row)] * once, *[("catch-up", "raw", row)] * again)
    assert says in " ".join(report.section(measured).lower().split())


def test_a_failed_measurement_is_shown() -> None:
    measured = record()
    measured.results.append(Result("burst", "dragoman", {}, (0.0, 0.0), "WrongCountError: 2 more"))
    assert faults(measured) == ["burst, dragoman: WrongCountError: 2 more"]
    assert "WrongCountError: 2 more" in report.section(measured)


def test_readme_shows_the_record() -> None:
    readme = report.README.read_text()
    assert readme == report.renew(readme, Record.read()), "run: python -m tests.bench.claims.report"


def test_the_chart_shows_the_record() -> None:
    drawn = chart.PATH.read_text()
    shown = chart.labels(Record.read())
    assert shown
    assert [label for label in shown if f">{label}<" not in drawn] == []


def test_the_page_of_explain_shows_its_record() -> None:
    page = explained.PAGE.read_text()
    assert page == explained.renewed(page, explained.Record.read()), "run: make pages"


def test_a_bar_of_explain_is_missed_where_the_number_is_too_large() -> None:
    found = explained.Record(when="now", machine="a machine", commit="abc", load=0.5)
    found.add("help", {"s": 0.31, "cpu_s": 0.2})
    found.add("explain-1000", {"s": 2.9, "cpu_s": 2.0, "mib": 120.0})
    lines = [line for line in explained.section(found).splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    verdicts = {row[1]: row[-2] for row in rows}
    assert verdicts["`--help`"] == "missed"
    assert verdicts["`explain pod`, 1,000 nodes x 8 devices"] == "met"
    assert verdicts["`top`, 5,000 nodes x 8 devices"] == "not measured"
