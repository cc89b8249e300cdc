"""Rules about metrics, names, status and profiles, as the scenarios apply them."""

from typing import Any

import pytest

from dragoman_drivers.conformance import profile
from dragoman_drivers.conformance.running import LONGEST
from dragoman_drivers.conformance.scenarios import all_scenarios
from dragoman_drivers.conformance.scenarios.operation import parse_metrics, rising
from dragoman_drivers.conformance.scenarios.restart import renaming
from dragoman_drivers.conformance.scenarios.sharing import wrong_entries


def test_lanes_that_begin_first_are_lanes_of_scenarios() -> None:
    assert {*LONGEST} <= {one.lane for one in all_scenarios().values()}


METRICS = """\
# HELP driver_prepare_total Calls.
driver_prepare_total{result="success"} 3
driver_prepare_total{result="error"} 1 1700000000
driver_prepare_seconds_sum 2.5e-01
go_goroutines 12
"""


def test_series_of_preparations_are_read_and_those_that_rise_are_found() -> None:
    before = parse_metrics(METRICS)
    assert before['driver_prepare_total{result="error"}'] == 1
    assert before["driver_prepare_seconds_sum"] == 0.25
    after = {**before, "go_goroutines": 20.0, "driver_prepare_seconds_sum": 0.5, "claims": 1.0}
    assert rising(before, after) == {"driver_prepare_seconds_sum", "claims"}


def devices(*identities: str) -> dict[str, Any]:
    return {
        f"gpu-{at}": {"attributes": {"uuid": {"string": one}, "index": {"int": at}}}
        for at, one in enumerate(identities)
    }


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (devices("a", "b"), ""),
        (dict(reversed(devices("a", "b").items())), ""),
        (devices("b", "a"), "gpu-0 is another device"),
        (devices("a"), "names changed: gpu-1"),
    ],
)
def test_a_name_stays_with_its_hardware(after: dict[str, Any], problem: str) -> None:
    assert renaming(devices("a", "b"), after) == problem


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        *((one, True) for one in ("uuid", "gpuUUID", "d.example.com/pciBusID", "macAddress")),
        *((one, False) for one in ("machineType", "mac.example.com/model", "compacted", "index")),
    ],
)
def test_hardware_is_known_by_words_of_attributes(attribute: str, told: bool) -> None:
    first, other = ({"a": {"attributes": {attribute: {"string": one}}}} for one in ("x", "y"))
    assert bool(renaming(first, other)) == told


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"deep": [{"token": "Bearer abc"}]}, ""),
        ({"token": "${TOKEN}"}, "is in no text of its `parameters`"),
    ],
)
def test_a_secret_must_be_in_its_parameters(parameters: Any, problem: str) -> None:
    tree = {"configs": {"secrets": [{"parameters": parameters, "secret": "abc"}]}}
    if not problem:
        assert profile.parse(tree).secrets == ((parameters, "abc"),)
        return
    with pytest.raises(profile.ProfileError, match=problem):
        profile.parse(tree)


RESULT = {"driver": "d", "pool": "n", "device": "gpu-0"}
KEY = 'k:{"device":"gpu-0","driver":"d","pool":"n"}'


def claim(*entries: dict[str, Any], managers: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    managed = []
    for name, fields in managers.items():
        owned: dict[str, Any] = {f"f:{one}": {} for one in fields}
        if "devices" in fields:
            owned["f:devices"] = {".": {}, KEY: {}}
        managed.append({"manager": name, "fieldsV1": {"f:status": owned}})
    status = {"allocation": {"devices": {"results": [RESULT]}}, "devices": [*entries]}
    return {"metadata": {"managedFields": managed}, "status": status}


GOOD = {"scheduler": ("allocation",), "d": ("devices",)}


@pytest.mark.parametrize(
    ("entry", "managers", "problem"),
    [
        (RESULT, GOOD, ""),
        ({**RESULT, "driver": "other", "device": "nic-0"}, GOOD, ""),
        ({**RESULT, "device": "gpu-1"}, GOOD, "gpu-1, which is not allocated"),
        ({**RESULT, "data": {"x": "y" * 11_000}}, GOOD, "data is too large"),
        ({**RESULT, "conditions": [{}] * 9}, GOOD, "more than 8 conditions"),
        (RESULT, {"scheduler": ("allocation", "devices")}, "sets other fields"),
        (RESULT, {**GOOD, "d-2": ("devices",)}, "the managers d, d-2"),
    ],
)
def test_entries_of_a_status_are_of_allocated_devices_and_of_one_manager(
    entry: dict[str, Any], managers: dict[str, tuple[str, ...]], problem: str
) -> None:
    found = wrong_entries(claim(entry, managers=managers), "d")
    assert problem in found
    assert bool(found) == bool(problem)


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"oldestKubernetes": "1.x"}, "oldestKubernetes"),
        ({"oldestKubernetes": "2.0"}, "oldestKubernetes"),
        ({"configs": {"secrets": [{"parameters": {"a": "b"}}]}}, r"configs\.secrets"),
        ({"shuffledCommands": "x"}, "did you mean shuffledCommand"),
    ],
)
def test_a_bad_profile_is_named(tree: dict[str, Any], problem: str) -> None:
    with pytest.raises(profile.ProfileError, match=problem):
        profile.parse(tree)


def test_a_profile_has_promises_secrets_and_variants() -> None:
    secrets = [{"parameters": {"token": "x"}, "secret": "x"}]
    found = profile.parse(
        {"oldestKubernetes": "v1.33", "configs": {"secrets": secrets}, "shuffledCommand": "c"}
    )
    assert found.oldest == 33
    assert found.secrets == (({"token": "x"}, "x"),)
    assert found.commands == {"shuffled": "c"}
