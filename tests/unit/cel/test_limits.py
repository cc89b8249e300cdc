"""Hostile expressions end: by cost, by steps, or before they run."""

from typing import Any

import pytest

import dragoman_cel as cel
from dragoman_cel import types
from dragoman_cel.budget import EVALUATION_STEPS
from dragoman_cel.environment import COST_LIMIT, Environment
from tests.support.worlds.expressions import RUNAWAYS, TEN, UNDERCHARGED, chained, nested
from tests.unit.examples import examples

BASE = Environment((1, 36), {"s": types.STRING, "d": types.DYN}, {}, lambda _: None, bind=True)
COST = min(COST_LIMIT, max(100_000, examples(100_000)))
STEPS = min(EVALUATION_STEPS, max(100_000, examples(100_000)))


def run(expression: str, budget: cel.StepBudget | None = None) -> Any:
    return BASE.compile(expression).evaluate(["a" * 60, [1] * 10], budget=budget)[0]


def run_away(expression: str) -> None:
    """Evaluate with a tenth of the real limits."""
    values = ["a" * 60, [1] * 10]
    BASE.compile(expression).evaluate(values, cost_limit=COST, budget=cel.StepBudget(STEPS))


@pytest.mark.parametrize("expression", RUNAWAYS.values(), ids=RUNAWAYS)
def test_an_expression_that_runs_away_is_stopped(expression: str) -> None:
    with pytest.raises(cel.CostLimitExceeded):
        run_away(expression)


@pytest.mark.parametrize("expression", UNDERCHARGED.values(), ids=UNDERCHARGED)
def test_what_cel_charges_too_little_for_is_stopped_by_steps(expression: str) -> None:
    with pytest.raises(cel.StepBudgetExceeded) as caught:
        run_away(expression)
    assert caught.value.cost < COST


def spent(expression: str) -> int:
    """Return the plain steps and the cost of an evaluation together."""
    budget = cel.StepBudget(EVALUATION_STEPS)
    run(expression, budget)
    return EVALUATION_STEPS - budget.remaining


def plain_steps(expression: str) -> int:
    """Return the plain steps of an evaluation, without its cost."""
    budget = cel.StepBudget(EVALUATION_STEPS)
    cost = BASE.compile(expression).evaluate(["a", [1]], budget=budget)[1]
    return EVALUATION_STEPS - budget.remaining - cost


@pytest.mark.parametrize(
    ("item", "call"),
    [
        pytest.param("string(i)", "v.min() == ''", id="the least text"),
        pytest.param("string(i)", "v.max() == ''", id="the greatest text"),
        pytest.param("'x'", "v.isSorted()", id="the order of texts"),
        pytest.param("string(i)", "v.indexOf(dyn([])) == 0", id="the first index of a value"),
        pytest.param("string(i)", "v.lastIndexOf(dyn([])) == 0", id="the last one"),
        pytest.param("i", "sets.intersects(v, [])", id="what is shared with an empty list"),
        pytest.param("timestamp(i)", "dyn(timestamp(-1)) in v", id="a value in a list"),
        pytest.param("i", "v.transformMap(k, w, w) == {}", id="a map of a list"),
    ],
)
def test_a_call_spends_steps_for_each_element(item: str, call: str) -> None:
    """Its CEL cost is 1."""
    texts = [
        f"cel.bind(v, lists.range(1000).map(i, {item}), {test} || true)"
        for test in ("v.size() > 0", call)
    ]
    before, after = map(spent, texts)
    assert after - before >= 990


@pytest.mark.parametrize(
    ("call", "steps"),
    [
        pytest.param("string(ip('fe80::1')) == ''", 8_000, id="an address as text"),
        pytest.param("string(cidr('fe80::/10')) == ''", 8_000, id="a network as text"),
        pytest.param("string(timestamp(i)) == ''", 5_000, id="a time as text"),
        pytest.param("string(timestamp(i) - timestamp(0)) == ''", 5_000, id="a duration as text"),
        pytest.param("quantity('1').add(i).isInteger()", 8_000, id="a sum of quantities"),
        pytest.param(
            "quantity('1').asApproximateFloat() < 0.0", 5_000, id="a quantity as a number"
        ),
        pytest.param("'true'.findAll('a') == ['a']", 5_000, id="a search for all matches"),
        pytest.param("[].sum() < 0", 2_000, id="a sum of nothing"),
        pytest.param("['x'].indexOf('x') < 0", 3_000, id="a search in a short list"),
        pytest.param("['x'].lastIndexOf('x') < 0", 3_000, id="the same from the end"),
        pytest.param("'x'.replace('y', 'z') == ''", 1_000, id="a replacement in a short text"),
        pytest.param("sets.intersects([], [[]])", 4_000, id="lists whose elements decide"),
        pytest.param("size(dyn([])) < 0", 4_000, id="the size of a value of any type"),
    ],
)
def test_a_call_spends_steps_that_it_costs_nothing_for(call: str, steps: int) -> None:
    plain, calling = (
        f"lists.range(1000).exists_one(i, {test})"
        for test in (f"[false, i < 0][0] && {call}", f"{call} && false")
    )
    assert plain_steps(calling) - plain_steps(plain) >= steps


def test_includes_spends_steps_for_each_element() -> None:
    text = "lists.range(1000).exists_one(i, device.attributes['x'].l.includes({item}))"
    device = {"attributes": {"l": {"ints": list(range(40))}}}
    spent_on = []
    for item in ("0", "true"):
        selector = cel.selectors.compile(text.format(item=item), list_attributes=True)
        budget = cel.StepBudget(EVALUATION_STEPS)
        assert selector.matches(device, driver="x", budget=budget) is False
        spent_on.append(EVALUATION_STEPS - budget.remaining)
    assert min(spent_on) >= 40_000


def test_an_error_of_a_loop_spends_several_steps() -> None:
    plain, failing = (
        "lists.range(1000).exists(i, i < 0)",
        "lists.range(1000).exists(i, 1 / 0 > i)",
    )
    assert spent(f"{failing} || true") - spent(f"{plain} || true") >= 9_000


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"isQuantity('{'0' * 50_000}x')", id="a quantity"),
        pytest.param(f"[1].exists(i, double('{'1' * 50_000}' + 'x') > 0.0)", id="a double"),
        pytest.param(f"[1].exists(i, double('0x{'1' * 50_000}' + 'x') > 0.0)", id="hexadecimal"),
        pytest.param("'a'.matches(r'" + r"\Qa\E" * 3_000 + r"\Q\C')", id="a quoted pattern"),
    ],
)
def test_a_text_that_is_almost_right_is_refused_after_one_look(expression: str) -> None:
    assert run(f"[false, {expression}].exists_one(x, x) || true") is True


def test_a_bound_error_can_be_met_any_number_of_times() -> None:
    with pytest.raises(cel.EvaluationError, match="division by zero") as caught:
        run("cel.bind(bad, 1 / 0, lists.range(1000).all(i, bad == i || true) && bad == 1)")
    depth, trace = 0, caught.value.__traceback__
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    assert depth < 50


def test_a_text_that_would_not_fit_into_memory_is_not_built() -> None:
    grown = chained("'" + "x" * 40 + "'", "@.replace('', @)", "size(@) > 0", times=6)
    with pytest.raises(cel.EvaluationError, match=r"text is too long|cost limit"):
        run(grown)


def test_a_long_list_of_one_long_text_is_not_printed() -> None:
    text = chained("'" + "x" * 40 + "'", "@ + @", "'%s'.format([lists.range(900).map(i, @)])", 16)
    with pytest.raises(cel.EvaluationError, match=r"text is too long|step budget"):
        run(text)


def test_a_map_of_one_long_text_is_not_printed() -> None:
    last = "'%s'.format([lists.range(900).transformMap(k, v, @)])"
    with pytest.raises(cel.EvaluationError, match=r"text is too long|step budget"):
        run(chained("'" + "x" * 40 + "'", "@ + @", last, 16))


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"sign(quantity('{'9' * 501}')) > 0", id="more digits"),
        pytest.param("sign(quantity('1e600').add(quantity('1'))) > 0", id="digits far apart"),
    ],
)
def test_a_quantity_too_long_to_compute_with_is_refused(expression: str) -> None:
    with pytest.raises(cel.EvaluationError, match="quantity is too large to compute with"):
        run(expression)


@pytest.mark.parametrize("digits", ["9" * 500, "1" + "0" * 499])
def test_a_message_can_hold_the_longest_quantity(digits: str) -> None:
    with pytest.raises(cel.EvaluationError) as caught:
        run(f"cel.bind(q, quantity('{digits}'), [1, 2].transformMapEntry(i, v, {{q: 1}}).size())")
    assert "insert failed: key " + digits[:3].rstrip("0") in caught.value.message


def test_a_version_beyond_any_use_is_refused() -> None:
    with pytest.raises(cel.EvaluationError, match="version is too long"):
        run(f"semver('1.0.0-{'a.' * 300}a').major() > 0")


def test_a_compile_error_tells_the_first_hundred_complaints() -> None:
    with pytest.raises(cel.CompileError) as caught:
        BASE.compile("[" + "x, " * 250 + "]")
    assert len(caught.value.issues) == 100
    assert caught.value.message.endswith("\n150 more errors were truncated")


def test_a_compile_error_does_not_draw_a_line_longer_than_16_kib() -> None:
    with pytest.raises(cel.CompileError) as caught:
        BASE.compile(f"x == '{'a' * 16_384}'")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("wrapped", ["({}) || true", "true || ({})", "[1].exists(x, {} || true)"])
def test_a_limit_is_not_absorbed_like_an_error(wrapped: str) -> None:
    endless = nested(TEN + ".all(x{n}, {inside})", 7, "true")
    expression = wrapped.format(endless)
    if expression.startswith("true"):
        assert run(expression) is True
    else:
        with pytest.raises(cel.CostLimitExceeded):
            run(expression)


def test_what_was_stopped_tells_its_cost() -> None:
    with pytest.raises(cel.CostLimitExceeded) as caught:
        run(nested(TEN + ".all(x{n}, {inside})", 7, "true"))
    assert caught.value.cost == 1_000_001


def test_what_ran_out_of_steps_tells_its_cost() -> None:
    with pytest.raises(cel.StepBudgetExceeded) as caught:
        run("1 + 2 > 0 && lists.range(1000000000000).size() > 0")
    assert caught.value.cost < 20


def test_loops_nest_as_deep_as_in_cel_go() -> None:
    assert run(nested("[1].exists(x{n}, {inside})", 249, "true")) is True
    assert run(nested("[1].map(x{n}, {inside})", 248, "1") + ".size() == 1") is True
    with pytest.raises(cel.CompileError, match="expression recursion limit exceeded: 250"):
        BASE.compile(nested("[1].exists(x{n}, {inside})", 250, "true"))


def test_a_pattern_that_backtracks_elsewhere_takes_one_pass() -> None:
    assert run("'" + "a" * 5000 + "'.matches('(a*)*b')") is False


def test_evaluations_share_a_budget_of_steps() -> None:
    budget = cel.StepBudget(1000)
    assert run(f"{TEN}.all(x, x > 0)", budget) is True
    assert 0 < budget.remaining < 1000
    while budget.remaining > 80:
        run(f"{TEN}.all(x, x > 0)", budget)
    with pytest.raises(cel.StepBudgetExceeded):
        run(f"{TEN}.map(x, x)", budget)
    assert budget.remaining == 0


def test_an_empty_budget_allows_nothing() -> None:
    with pytest.raises(cel.StepBudgetExceeded):
        run("true", cel.StepBudget(0))


def test_a_budget_stops_an_evaluation_in_the_middle() -> None:
    with pytest.raises(cel.StepBudgetExceeded):
        run("lists.range(1000).all(x, x >= 0)", cel.StepBudget(500))
