"""The catalog says about each driver's configs what the driver says when it prepares a claim."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.catalog_page import DESCRIPTION, page
from dragoman_configs import catalog, strictjson
from dragoman_configs.compile.registry import Registry
from dragoman_configs.objects.driverconfigschema import CHECKED_AGAINST
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Violation
from tests.support.worlds import configtables as tables
from tests.support.worlds import driverconfigs as builders

DEFAULTS = {document["metadata"]["name"]: document for document in catalog.schemas()}
RELEASES = catalog.releases()
OBJECTS = {**DEFAULTS, **RELEASES}
SOURCE = re.compile(
    r"[\w-]+/[\w-]+ (unreleased|(after )?([a-z]+-)?v\d+\.\d+\.\d+), "
    r"[0-9a-f]{7}( \(\d{4}-\d\d-\d\d\))?|documentation, [\w.-]+[\w ./-]+ \(v\d+\.\d+\.\d+\)"
)
"""Repository, release and commit; `after` for a newer commit than the release."""
PLACES = {"Claim": "spec.devices.config[0]", "Class": "spec.config[0]"}


def rows() -> Iterator[Any]:
    for driver in tables.drivers():
        for case in tables.cases(driver):
            yield pytest.param(case, id=f"{driver}: {case.title}")


def with_variables(document: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    variables = [
        {**variable, "value": values.get(variable["name"], variable["value"])}
        for variable in document["spec"].get("variables", [])
    ]
    assert values.keys() <= {variable["name"] for variable in variables}
    return {**document, "spec": {**document["spec"], "variables": variables}}


def labels(violations: list[Violation], place: str) -> list[str]:
    texts = [str(violation.error.redacted()) for violation in violations]
    relative = [text.removeprefix(f"{place}.opaque.parameters") for text in texts]
    shown = [text.replace(place, "entry") for text in relative]
    return sorted(":".join(text.split(":")[:2]) for text in shown)


@pytest.mark.parametrize("case", list(rows()))
def test_the_verdict_is_what_the_driver_does(case: tables.Case) -> None:
    document = with_variables(OBJECTS[case.driver], {**case.settings, **case.changes})
    made = builders.device_class if case.source == "Class" else builders.claim
    requests = () if case.source == "Class" else ("gpu",)
    values = strictjson.parse(case.parameters.encode())
    thing = made(builders.entry(values, document["spec"]["driver"], requests))
    verdict = validate_configs(builders.registry(document), thing["kind"], thing)
    errors = [violation for violation in verdict.violations if violation.denies]
    warnings = [violation for violation in verdict.violations if not violation.denies]
    assert labels(errors, PLACES[case.source]) == sorted(case.errors)
    assert labels(warnings, PLACES[case.source]) == sorted(case.warnings)


def test_every_object_of_the_catalog_has_a_table_of_verdicts() -> None:
    assert set(tables.drivers()) == OBJECTS.keys()


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_an_object_compiles_and_says_what_it_was_checked_against(name: str) -> None:
    document = OBJECTS[name]
    driver = name.partition("@")[0]
    registered = Registry.of([document]).objects[driver]
    assert [str(fault) for fault in registered.compilation.errors] == []
    assert registered.compilation.warnings == ()
    assert document["spec"]["driver"] == document["metadata"]["name"] == driver
    assert document["metadata"]["annotations"].keys() == {DESCRIPTION, CHECKED_AGAINST}
    assert SOURCE.fullmatch(document["metadata"]["annotations"][CHECKED_AGAINST])
    # The mode is for admins to choose: an object that set it would take it back at every upgrade.
    # One from documentation alone warns, as its driver may accept more than is documented.
    source = document["metadata"]["annotations"]["dragoman.dev/checked-against"]
    expected = "Warn" if source.startswith("documentation") else None
    assert document["spec"].get("mode") == expected


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_an_earlier_release_stands_beside_the_default_of_its_driver(name: str) -> None:
    driver, _, release = name.partition("@")
    assert f" {release}, " in RELEASES[name]["metadata"]["annotations"][CHECKED_AGAINST]
    assert RELEASES[name]["spec"] != DEFAULTS[driver]["spec"]


def test_hami_decodes_the_shared_kinds_as_an_earlier_release_of_nvidia() -> None:
    nvidia, hami = OBJECTS["gpu.nvidia.com@v0.4.1"], OBJECTS["hami-core-gpu.project-hami.io"]
    kinds = [{one["kind"]: one for one in each["spec"]["configs"]} for each in (nvidia, hami)]
    for kind in ("GpuConfig", "MigDeviceConfig"):
        assert kinds[0][kind]["schema"] == kinds[1][kind]["schema"]
        assert kinds[0][kind]["rules"] == kinds[1][kind]["rules"]


def test_the_page_about_the_catalog_is_up_to_date() -> None:
    written = (Path(__file__).parents[3] / "docs" / "catalog.md").read_text()
    assert written == page(DEFAULTS.values(), RELEASES), "run python docs/generate_catalog.py"
