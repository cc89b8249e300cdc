"""Request policies of capacities, in the words of the API servers of 1.36 and 1.38."""

from typing import Any

import pytest

from dragoman_base.versions import Release, Version
from dragoman_toolkit.linting.validation.errors import Errors
from dragoman_toolkit.linting.validation.policies import check_capacity

OLD, NEW = (1, 36), (1, 38)


def refused(version: Version, policy: dict[str, Any], value: str = "10") -> list[str]:
    """Return what is refused, each as `field: words`, without the value."""
    errors = Errors(Release(version))
    check_capacity(errors, ("c",), {"value": value, "requestPolicy": policy}, shared=True)
    parts = (problem.message.split(": ") for problem in errors.problems)
    return [f"{one[0].rpartition('.')[2]}: {': '.join(one[3:])}" for one in parts]


def within(default: str, low: str, high: str | None = None, step: str | None = None) -> Any:
    given = {"min": low, "max": high, "step": step}
    return {"default": default, "validRange": {key: one for key, one in given.items() if one}}


@pytest.mark.parametrize(
    ("policy", "old", "new"),
    [
        pytest.param(
            within("1", "2"),
            ["min: default is less than min: 2"],
            ["default: default is less than min: 2"],
            id="a default below the range",
        ),
        pytest.param(
            within("5", "2", "4"),
            ["max: default is more than max: 4"],
            ["default: default is more than max: 4"],
            id="a default above the range",
        ),
        pytest.param(
            within("1", "1", "4", "0"),
            ["step: must be greater than zero"],
            ["step: must be greater than zero"],
            id="no step",
        ),
        pytest.param(
            within("1", "1", "4", "-1"), [], ["step: must be greater than zero"], id="backwards"
        ),
        pytest.param(within("500m", "100m", "4", "100m"), [], [], id="steps of tenths from tenths"),
        pytest.param(
            within("250m", "100m", "4", "100m"),
            [],
            ["step: value is not a multiple of a given step (100m) from (100m)"],
            id="a default between two tenths",
        ),
        pytest.param(
            within("1", "100n", "4"),
            [],
            ["min: value cannot be represented as a milli value"],
            id="finer than thousandths",
        ),
        pytest.param(
            within("3", "2", "8", "2"),
            ["step: value is not a multiple of a given step (2) from (2)"],
            ["step: value is not a multiple of a given step (2) from (2)"],
            id="a default between two whole steps",
        ),
    ],
)
def test_ranges(policy: dict[str, Any], old: list[str], new: list[str]) -> None:
    assert refused(OLD, policy) == old
    assert refused(NEW, policy) == new


def test_bounds_that_the_api_server_cannot_count() -> None:
    policy = within("1", "1", "20E", "1")
    found = refused(NEW, policy, value="30E")
    assert found == ["max: must not be larger than 9223372036854775807"]
    assert refused(OLD, policy, value="30E") == []


def test_options_of_fractions_are_different_since_1_38() -> None:
    policy = {"default": "1", "validValues": ["400m", "600m", "1"]}
    assert len(refused(OLD, policy)) == 2  # all round up to 1
    assert refused(NEW, policy) == []
