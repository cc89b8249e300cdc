"""Which objects of the catalog are applied, and what of them is left to admins."""

from collections.abc import Iterable
from typing import Any

import pytest

from dragoman.controllers.driverconfigschemas.selection import select, without
from dragoman_configs import catalog

Json = dict[str, Any]
DOCUMENTS = catalog.schemas()
NVIDIA = "gpu.nvidia.com"


def named(documents: Iterable[Json]) -> list[str]:
    return [document["metadata"]["name"] for document in documents]


def test_all_is_the_whole_catalog_and_none_is_nothing() -> None:
    assert named(select(DOCUMENTS, "all").documents) == named(DOCUMENTS)
    assert select(DOCUMENTS, "none").documents == ()


def test_drivers_are_chosen_by_name() -> None:
    assert named(select(DOCUMENTS, "dra.net, gpu.nvidia.com").documents) == ["dra.net", NVIDIA]


def test_mode_and_variables_are_set_in_the_chosen_object_alone() -> None:
    before = catalog.schemas()
    [chosen] = select(
        DOCUMENTS, NVIDIA, [f"{NVIDIA}=Warn"], [f"{NVIDIA}:MPSSupport=true"]
    ).documents
    values = {one["name"]: one["value"] for one in chosen["spec"]["variables"]}
    assert chosen["spec"]["mode"] == "Warn"
    assert values["MPSSupport"] is True
    assert values["DynamicMIG"] is False
    assert before == DOCUMENTS


@pytest.mark.parametrize(
    ("names", "modes", "variables", "words"),
    [
        pytest.param("gpu.nvidia.co", [], [], "'gpu.nvidia.co'", id="a driver that is not there"),
        pytest.param("all", [f"{NVIDIA}=On"], [], "Enforce, Warn, Audit, Off", id="unknown mode"),
        pytest.param("all", ["x=Warn"], [], "--catalog-mode", id="a mode for an unknown driver"),
        pytest.param("all", [NVIDIA], [], "DRIVER=MODE", id="no mode"),
        pytest.param("all", [], [f"{NVIDIA}:MPS=true"], "MPSSupport", id="an unknown variable"),
        pytest.param("all", [], [f"{NVIDIA}:MPSSupport=1"], "bool", id="a value of another type"),
        pytest.param("all", [], [f"{NVIDIA}:MPSSupport=yes"], "bool", id="a value that is no JSON"),
        pytest.param("all", [], ["MPSSupport=true"], "DRIVER:NAME=VALUE", id="no driver"),
    ],
)
def test_a_setting_that_does_not_exist_is_named_and_left_out(
    names: str, modes: list[str], variables: list[str], words: str
) -> None:
    selection = select(DOCUMENTS, names, modes, variables)
    (fault,) = selection.faults
    assert words in fault.message
    assert [*selection.documents] == (DOCUMENTS if names == "all" else [])


def test_the_other_settings_take_effect() -> None:
    variables = [f"{NVIDIA}:MPS=true", f"{NVIDIA}:MPSSupport=true"]
    selection = select(DOCUMENTS, f"nothing, {NVIDIA}", ["x=Warn"], variables)
    (chosen,) = selection.documents
    values = {one["name"]: one["value"] for one in chosen["spec"]["variables"]}
    assert values["MPSSupport"] is True
    assert [fault.driver for fault in selection.faults] == ["nothing", "x", NVIDIA]


def test_an_earlier_release_takes_the_place_of_the_default() -> None:
    releases = catalog.releases()
    selection = select(DOCUMENTS, "all, dra.net@v1.4.0", releases=releases)
    assert named(selection.documents) == named(DOCUMENTS)
    (chosen,) = [one for one in selection.documents if one["metadata"]["name"] == "dra.net"]
    assert chosen == releases["dra.net@v1.4.0"]


def test_a_release_that_does_not_exist_is_named_beside_those_that_do() -> None:
    selection = select(DOCUMENTS, "dra.net@v0.1.0", releases=catalog.releases())
    (fault,) = selection.faults
    assert selection.documents == ()
    assert "dra.net@v1.4.0" in fault.message
    assert "'dra.net@v0.1.0'" in fault.message


DOCUMENT: Json = {
    "spec": {
        "mode": "Warn",
        "variables": [{"name": "A", "value": 1}, {"name": "B", "value": 2}],
        "configs": [
            {"schema": {"openAPIV3Schema": {"type": "object"}}},
            {"apiVersion": "a/v1", "kind": "K", "rules": [{"rule": "1"}]},
        ],
    }
}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(".spec.mode", ("spec", "mode"), id="a field"),
        pytest.param(
            '.spec.variables[name="B"].value', ("spec", "variables", 1, "value"), id="by one key"
        ),
        pytest.param(
            '.spec.configs[apiVersion="a/v1",kind="K"].rules',
            ("spec", "configs", 1, "rules"),
            id="by two keys",
        ),
        pytest.param(
            '.spec.configs[apiVersion="",kind=""].schema.openAPIV3Schema.type',
            ("spec", "configs", 0, "schema", "openAPIV3Schema", "type"),
            id="by keys that have their defaults",
        ),
    ],
)
def test_a_field_in_conflict_is_left_out_and_nothing_else(
    path: str, place: tuple[str | int, ...]
) -> None:
    left = without(DOCUMENT, path)
    parent: Any = left
    original: Any = DOCUMENT
    for step in place[:-1]:
        parent, original = parent[step], original[step]
    assert place[-1] not in parent
    parent[place[-1]] = original[place[-1]]
    assert left == DOCUMENT


@pytest.mark.parametrize("path", [".spec.nothing", '.spec.variables[name="C"].value', "", ".a[3]"])
def test_a_path_that_leads_nowhere_leaves_the_object_as_it_is(path: str) -> None:
    assert without(DOCUMENT, path) == DOCUMENT
