"""`explain --reason` says offline what each code means."""

import click
import pytest

from dragoman.allocation import Code
from dragoman.claims.reasons import ClaimReason
from dragoman.diagnosis.obstacles import ObstacleCode
from dragoman_toolkit.dra.diagnosis.explain import explain
from dragoman_toolkit.dra.diagnosis.reasoncodes import meanings
from dragoman_toolkit.migration import losses
from tests.support.dra import invoke


def test_each_code_has_a_sentence() -> None:
    known = meanings()
    codes = (*Code, *ClaimReason, *ObstacleCode, *losses.Code)
    assert {*map(str, codes)} == {*known}
    assert [text for text in known.values() if "{" in text or not text.endswith(".")] == []


@pytest.mark.parametrize("code", ["DeviceInUse", "deviceinuse"])
def test_a_code_is_explained_without_a_cluster(code: str) -> None:
    result = invoke("explain", "--reason", code)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "DeviceInUse",
        "Of a device, a request or a node: the device is in use by <holders>.",
    ]


def test_a_code_that_two_parts_have_is_explained_for_both() -> None:
    printed = invoke("explain", "--reason", "TemplateNotFound").output
    assert printed.count("template") >= 2
    assert "In the operator: " in printed


def test_a_code_that_is_misspelt_has_a_near_name() -> None:
    result = invoke("explain", "--reason", "DeviceInUsed")
    assert result.exit_code == 2
    assert "did you mean DeviceInUse?" in result.output


def test_codes_are_completed() -> None:
    (option,) = (one for one in explain.params if one.name == "reason")
    found = option.shell_complete(click.Context(explain), "Pool")
    assert [one.value for one in found] == ["PoolIncomplete", "PoolInvalid", "PoolObsolete"]
