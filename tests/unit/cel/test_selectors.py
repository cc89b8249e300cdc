"""Device selectors: the scheduler's outcomes and costs."""

import contextlib
import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dragoman_cel as cel
from dragoman_cel import selectors

DRIVER = "dra.example.com"
DEVICE: dict[str, Any] = {
    "attributes": {
        "model": {"string": "A100"},
        "index": {"int": 3},
        "healthy": {"bool": True},
        "version": {"version": "12.4.0"},
        "other.example.com/zone": {"string": "east"},
    },
    "capacity": {"memory": {"value": "80Gi"}},
    "allowMultipleAllocations": True,
}


def matches(expression: str, device: dict[str, Any] | None = None, **environment: Any) -> bool:
    selector = cel.selectors.compile(expression, **environment)
    return selector.matches(DEVICE if device is None else device, driver=DRIVER)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('device.driver == "dra.example.com"', id="the driver"),
        pytest.param('device.attributes["dra.example.com"].index > 2', id="an own attribute"),
        pytest.param('device.attributes["other.example.com"].zone == "east"', id="another domain"),
        pytest.param(
            'device.capacity["dra.example.com"].memory.isGreaterThan(quantity("40Gi"))',
            id="a capacity",
        ),
        pytest.param(
            'device.attributes["dra.example.com"].version.isGreaterThan(semver("12.0.0"))',
            id="a version",
        ),
        pytest.param('device.attributes["dra.example.com"].healthy', id="an attribute as answer"),
        pytest.param("device.allowMultipleAllocations", id="consumable capacity"),
        pytest.param('device.attributes["nosuch"] == {}', id="an unknown domain is empty"),
        pytest.param("has(device.attributes.nosuch)", id="an unknown domain is there"),
        pytest.param('!("nosuch" in device.attributes)', id="an unknown domain is no member"),
        pytest.param("size(device.attributes) == 2", id="sizes count real domains"),
        pytest.param(
            'device.attributes["nosuch"].?x.orValue("d") == "d"', id="a default for the absent"
        ),
        pytest.param(
            '!has(device.attributes["dra.example.com"].nosuch)', id="an unknown attribute is absent"
        ),
        pytest.param(
            'cel.bind(own, device.attributes["dra.example.com"], own.index == 3)', id="cel.bind"
        ),
    ],
)
def test_a_device_matches(expression: str) -> None:
    assert matches(expression) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param(
            'device.attributes["dra.example.com"].nosuch == 1',
            "no such key: nosuch",
            id="an unknown attribute",
        ),
        pytest.param(
            'device.attributes["dra.example.com"].index',
            "CEL result of type int could not be converted to bool: "
            "unsupported type conversion from 'int' to bool",
            id="an attribute that is no bool",
        ),
        pytest.param(
            'device.attributes["dra.example.com"].version == "12.4.0"',
            "no such overload",
            id="a version against a text",
        ),
    ],
)
def test_an_evaluation_fails_as_in_the_scheduler(expression: str, message: str) -> None:
    with pytest.raises(cel.EvaluationError) as caught:
        matches(expression)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param(
            "device.driver", "must evaluate to bool or the unknown type, not string", id="text"
        ),
        pytest.param("device.nosuch", "undefined field 'nosuch'", id="an unknown field"),
        pytest.param('device["driver"] == ""', "'_[_]' applied to", id="an index into the object"),
        pytest.param("self.x", "undeclared reference to 'self'", id="another variable"),
        pytest.param(
            'device.attributes["a"].b.all(x, true)',
            "cannot be range",
            id="a loop over an attribute",
        ),
    ],
)
def test_a_selector_that_cannot_work_is_refused(expression: str, message: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.selectors.compile(expression)
    assert message in caught.value.message


def test_the_caret_stands_below_the_mistake() -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.selectors.compile("device.nosuch == 1")
    error = caught.value
    assert (error.line, error.column) == (1, 7)
    assert error.message.endswith(" | device.nosuch == 1\n | ......^")


def test_a_bad_version_fails_selectors_that_never_read_it() -> None:
    device = {"attributes": {"version": {"version": "1.x"}}}
    with pytest.raises(cel.EvaluationError, match="attribute version: parse semantic version"):
        matches("true", device)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        pytest.param(
            {"attributes": {"a": {"version": "1.x"}}},
            "attribute a: parse semantic version: ",
            id="a bad version",
        ),
        pytest.param(
            {"capacity": {"memory": {"value": "80 GB"}}},
            "capacity memory: quantities must match",
            id="a bad quantity",
        ),
        pytest.param(
            {"capacity": {"memory": {}}},
            "capacity memory: unsupported capacity value",
            id="a capacity without value",
        ),
        pytest.param(
            {"attributes": {"a": {"version": 5}}},
            "attribute a: unsupported attribute value",
            id="a version that is a number",
        ),
        pytest.param(
            {"attributes": {"a": {"int": "5"}}},
            "attribute a: unsupported attribute value",
            id="an int that is a text",
        ),
        pytest.param(
            {"attributes": {"a": {}}},
            "attribute a: unsupported attribute value",
            id="an attribute without value",
        ),
        pytest.param(
            {"attributes": {"a": 5}},
            "the device has not the form of the API",
            id="an attribute that is no object",
        ),
        pytest.param(
            {"attributes": [1]},
            "the device has not the form of the API",
            id="a list of attributes",
        ),
        pytest.param(5, "the device has not the form of the API", id="a number"),
    ],
)
def test_what_is_wrong_with_a_device_is_an_evaluation_error(device: Any, message: str) -> None:
    selector = cel.selectors.compile("true")
    prepared = selector.prepare(device, driver=DRIVER)
    with pytest.raises(cel.EvaluationError) as caught:
        selector.matches(prepared)
    assert caught.value.message.startswith(message)


def test_a_capacity_may_be_a_whole_number() -> None:
    expression = 'device.capacity["dra.example.com"].slots.compareTo(quantity("8")) == 0'
    assert matches(expression, {"capacity": {"slots": {"value": 8}}}) is True


def test_an_error_tells_what_was_spent() -> None:
    selector = cel.selectors.compile('device.attributes["dra.example.com"].nosuch == 1')
    device = selector.prepare(DEVICE, driver=DRIVER)
    with pytest.raises(cel.EvaluationError) as matched:
        selector.matches(device)
    with pytest.raises(cel.EvaluationError) as evaluated:
        selector.evaluate(device)
    assert matched.value.cost == evaluated.value.cost == 5


def test_a_version_of_kubernetes_may_be_a_full_one() -> None:
    full = cel.selectors.compile("[2, 1].sort() == [1, 2]", kubernetes="v1.34.2+k3s1")
    assert full.matches(DEVICE, driver=DRIVER) is True
    with pytest.raises(cel.CompileError):
        cel.selectors.compile("[2, 1].sort() == [1, 2]", kubernetes="v1.33.9")


@pytest.mark.parametrize("version", ["", "1", "abc", "1.x", "latest"])
def test_what_is_no_version_of_kubernetes_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="invalid Kubernetes version"):
        cel.selectors.compile("true", kubernetes=version)


def test_list_attributes_need_their_gate() -> None:
    device = {"attributes": {"links": {"ints": [1, 2]}}}
    expression = 'device.attributes["dra.example.com"].links.exists(x, x == 2)'
    assert matches(expression, device, list_attributes=True) is True
    with pytest.raises(cel.EvaluationError, match="attribute links: unsupported attribute value"):
        matches("true", device)
    assert matches("true", device, kubernetes="1.37") is True


def test_consumable_capacity_needs_its_gate_and_version() -> None:
    expression = "device.allowMultipleAllocations"
    for environment in ({"consumable_capacity": False}, {"kubernetes": "1.33"}):
        with pytest.raises(cel.CompileError, match="undefined field"):
            cel.selectors.compile(expression, **environment)


def test_a_new_expression_knows_only_the_libraries_of_the_version_before() -> None:
    expression = "[2, 1].sort() == [1, 2]"
    assert matches(expression, kubernetes="1.34") is True
    with pytest.raises(cel.CompileError):
        cel.selectors.compile(expression, kubernetes="1.34", stored=False)


def test_the_same_text_is_compiled_once() -> None:
    assert cel.selectors.compile("device.driver == 'x'") is cel.selectors.compile(
        "device.driver == 'x'"
    )


def test_costs_are_cel_gos() -> None:
    selector = cel.selectors.compile('device.driver == "dra.example.com"')
    _, cost = selector.evaluate(selector.prepare(DEVICE, driver=DRIVER))
    assert (selector.max_cost, cost) == (4, 4)


def test_a_prepared_device_answers_like_its_json() -> None:
    selector = cel.selectors.compile('device.attributes["dra.example.com"].model == "A100"')
    assert selector.matches(selector.prepare(DEVICE, driver=DRIVER)) is True


def test_results_that_are_no_bools_keep_their_type() -> None:
    selector = cel.selectors.compile('device.attributes["dra.example.com"].index')
    assert selector.evaluate(selector.prepare(DEVICE, driver=DRIVER))[0] == 3


def test_one_selector_serves_many_threads() -> None:
    text = 'device.attributes["dra.example.com"].index == {} && [1, 2].exists(x, x == {})'

    def ask(number: int) -> bool:
        device = {"attributes": {"index": {"int": number}}}
        selector = cel.selectors.compile(text.format("dyn(1)", 2) + f" || {number} == 0")
        return selector.matches(device, driver=DRIVER)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [number % 4 for number in range(2000)]))
    assert answers == [number % 4 in (0, 1) for number in range(2000)]


SHARED = [
    ('device.attributes["dra.example.com"].index == 3', True),
    ('cel.bind(own, device.attributes["dra.example.com"], own.exists(k, own[k] == "A100"))', True),
    ('[1, 2, 3].map(n, n * device.attributes["dra.example.com"].index) == [3, 6, 9]', True),
    ('device.attributes["dra.example.com"].version.isLessThan(semver("12.0.0"))', False),
    ('device.attributes["dra.example.com"].model.matches("^H[0-9]+")', False),
    ('device.attributes["dra.example.com"].nosuch == 1', "no such key: nosuch"),
    ('device.attributes["dra.example.com"].model < 1', "no such overload"),
]


def test_threads_share_prepared_devices_and_selectors() -> None:
    programs = [(cel.selectors.compile(text), expected) for text, expected in SHARED]
    device = programs[0][0].prepare(DEVICE, driver=DRIVER)

    def ask(number: int) -> bool:
        selector, expected = programs[number % len(programs)]
        try:
            return selector.matches(device) is expected
        except cel.EvaluationError as error:
            return error.message == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(4000)))


def test_a_device_is_never_changed() -> None:
    kept = copy.deepcopy(DEVICE)
    for text, _ in SHARED:
        with contextlib.suppress(cel.EvaluationError):
            matches(text)
    assert kept == DEVICE


def test_only_the_selectors_compiled_last_are_remembered() -> None:
    first = cel.selectors.compile("device.driver == 'first'")
    for number in range(300):
        cel.selectors.compile(f"device.driver == '{number}'")
    assert cel.selectors.compile("device.driver == 'first'") is not first


def test_a_selector_too_long_for_the_api_is_not_remembered() -> None:
    text = f"device.driver == '{'x' * selectors.MAX_EXPRESSION}'"
    assert cel.selectors.compile(text) is not cel.selectors.compile(text)


@pytest.mark.parametrize("name", ["__class__", "__dict__", "items", "get", "clone", "value"])
def test_expressions_reach_nothing_of_python(name: str) -> None:
    for start in ("device", 'device.attributes["dra.example.com"]', 'quantity("1")'):
        expression = f"has({start}.{name}) ? {start}.{name} == 1 : false"
        assert _refused_or_false(expression), expression


def _refused_or_false(expression: str) -> bool:
    try:
        return matches(expression) is False
    except cel.CompileError:
        return True


def test_messages_hold_no_values_of_the_device() -> None:
    device = {"attributes": {"secret": {"string": "hunter2"}}}
    secret = 'device.attributes["dra.example.com"].secret'
    for expression in (f"{secret} < 1", f"{secret}.nosuch == 1", f"{secret}[0] == 1", secret):
        with pytest.raises(cel.EvaluationError) as caught:
            matches(expression, device)
        assert "hunter2" not in str(caught.value)


def test_nothing_global_is_changed() -> None:
    before = sys.getrecursionlimit()
    assert matches("device.driver != ''") is True
    assert sys.getrecursionlimit() == before
    assert "celpy" not in vars(selectors)
