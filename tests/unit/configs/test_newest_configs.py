"""Valid configs of every driver's newest version, and what users do wrong in them.

A mutation spoils one field of a valid config; the review must name that field and no other one.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from dragoman_configs import catalog, strictjson
from dragoman_configs.objects.driverconfigschema import CHECKED_AGAINST
from dragoman_configs.review.validation import validate_configs
from tests.support.worlds import configtables as tables
from tests.support.worlds import driverconfigs as builders

CONFIGS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (tables.DATA / "newest" / "configs.yaml").read_text()
)
OBJECTS = {one["metadata"]["name"]: one for one in catalog.schemas()}
PLACE = "spec.devices.config[0].opaque.parameters"
DISCRIMINATORS = ("apiVersion", "kind")

Path = tuple[str | int, ...]


def gated_on(name: str) -> dict[str, Any]:
    """Give a schema with the feature gates that a config needs, and without those against it."""
    document = copy.deepcopy(OBJECTS[name])
    for variable in document["spec"].get("variables", ()):
        variable["value"] = variable["name"] not in {"ConsumableShares", "DynamicMIG"}
    return document


REGISTRIES = {name: builders.registry(gated_on(name)) for name in OBJECTS}


def texts(driver: str, written: str) -> list[str]:
    """Review parameters; errors and warnings alike, for drivers differ in what they refuse."""
    parameters = strictjson.parse(written.encode())
    claim = builders.claim(builders.entry(parameters, driver, ("gpu",)))
    verdict = validate_configs(REGISTRIES[driver], "ResourceClaim", claim)
    return [str(violation.error) for violation in verdict.violations]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the fields that are no objects, without those that choose the schema."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in items:
        if isinstance(child, dict | list):
            yield from leaves(child, (*path, key))
        elif path or key not in DISCRIMINATORS:
            yield (*path, key), child


def valid() -> Iterator[Any]:
    for driver, configs in CONFIGS.items():
        for index, config in enumerate(configs):
            yield pytest.param(driver, config, id=f"{driver} {config.get('kind', '')} {index}")


def fields(wanted: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    for driver, configs in CONFIGS.items():
        if "cni" in driver:
            continue  # what is below a plugin is the plugin's own
        for index, config in enumerate(configs):
            for path, value in leaves(config):
                if isinstance(path[-1], str) and wanted(value):
                    name = ".".join(map(str, path))
                    yield pytest.param(driver, config, path, id=f"{driver} {index} {name}")


def discriminators() -> Iterator[Any]:
    for driver, configs in CONFIGS.items():
        for index, config in enumerate(configs):
            for name in DISCRIMINATORS:
                if name in config:
                    yield pytest.param(driver, config, name, id=f"{driver} {index} {name}")


def changed(config: dict[str, Any], path: Path, value: Any, *, name: str = "") -> str:
    """Write a config with another value, or under another name, at a path."""
    copied = copy.deepcopy(config)
    holder: Any = copied
    for step in path[:-1]:
        holder = holder[step]
    former = holder.pop(path[-1]) if name else None
    holder[name or path[-1]] = former if name else value
    return json.dumps(copied)


def places(found: list[str]) -> list[str]:
    return [text.split(": ")[0].removeprefix(PLACE) for text in found]


def place(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


WARNED = {"spyre.ibm.com", "gpu.amd.com", "dra.rockchip.com"}
"""Drivers that ignore a valid config, or that only know it in their newest version."""


@pytest.mark.parametrize(("driver", "config"), list(valid()))
def test_a_valid_config_of_the_newest_version_passes(driver: str, config: dict[str, Any]) -> None:
    claim = builders.claim(builders.entry(config, driver, ("gpu",)))
    verdict = validate_configs(REGISTRIES[driver], "ResourceClaim", claim)
    assert verdict.denials == ()
    assert (verdict.violations == ()) or driver in WARNED


def test_every_kind_of_the_catalog_has_a_valid_config() -> None:
    assert {name for name, one in OBJECTS.items() if one["spec"]["configs"]} == CONFIGS.keys()


@pytest.mark.parametrize(("driver", "config", "path"), list(fields()))
def test_a_misspelled_field_is_named_with_the_right_one(
    driver: str, config: dict[str, Any], path: Path
) -> None:
    right = str(path[-1])
    wrong = f"{right[:1]}{right}"
    found = texts(driver, changed(config, path, None, name=wrong))
    checked = OBJECTS[driver]["metadata"]["annotations"][CHECKED_AGAINST]
    said = f"{PLACE}{place((*path[:-1], wrong))}: Forbidden: unknown field; did you mean {right}?"
    assert f"{said}; checked against {checked}" in found


@pytest.mark.parametrize(("driver", "config", "path"), list(fields()))
def test_a_field_in_other_letters_is_unknown(
    driver: str, config: dict[str, Any], path: Path
) -> None:
    wrong = str(path[-1]).swapcase()
    found = texts(driver, changed(config, path, None, name=wrong))
    assert place((*path[:-1], wrong)) in places(found)


@pytest.mark.parametrize(("driver", "config", "path"), list(fields()))
def test_an_object_in_place_of_a_value_is_refused_there(
    driver: str, config: dict[str, Any], path: Path
) -> None:
    found = texts(driver, changed(config, path, {"x": 1}))
    assert place(path) in places(found)
    assert all(one.startswith(place(path)) for one in places(found))


@pytest.mark.parametrize(
    ("driver", "config", "path"), list(fields(lambda one: isinstance(one, bool)))
)
def test_a_switch_in_quotes_is_refused(driver: str, config: dict[str, Any], path: Path) -> None:
    assert places(texts(driver, changed(config, path, "true"))) == [place(path)]


@pytest.mark.parametrize(("driver", "config", "path"), list(fields(lambda one: type(one) is int)))
def test_a_number_with_a_fraction_is_refused(
    driver: str, config: dict[str, Any], path: Path
) -> None:
    assert place(path) in places(texts(driver, changed(config, path, 1.0)))


@pytest.mark.parametrize(
    ("driver", "config", "path"), list(fields(lambda one: isinstance(one, str)))
)
def test_a_number_for_a_text_is_refused(driver: str, config: dict[str, Any], path: Path) -> None:
    found = places(texts(driver, changed(config, path, 3.5)))
    assert place(path) in found


@pytest.mark.parametrize(("driver", "config", "path"), list(fields()))
def test_null_is_the_same_as_leaving_a_field_out(
    driver: str, config: dict[str, Any], path: Path
) -> None:
    without = copy.deepcopy(config)
    holder: Any = without
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    assert texts(driver, changed(config, path, None)) == texts(driver, json.dumps(without))


@pytest.mark.parametrize(("driver", "config"), list(valid()))
def test_a_repeated_field_is_refused(driver: str, config: dict[str, Any]) -> None:
    name = next(iter(config))
    written = json.dumps(config)
    repeated = f'{{"{name}": {json.dumps(config[name])}, {written[1:]}'
    assert f"{PLACE}.{name}: Duplicate value: the key is repeated" in texts(driver, repeated)


@pytest.mark.parametrize(("driver", "config", "name"), list(discriminators()))
def test_an_unknown_kind_or_version_is_named(
    driver: str, config: dict[str, Any], name: str
) -> None:
    found = texts(driver, json.dumps({**config, name: f"{config[name]}2"}))
    assert f".{name}" in places(found)


@pytest.mark.parametrize(("driver", "config"), list(valid()))
def test_parameters_of_another_type_are_refused(driver: str, config: dict[str, Any]) -> None:
    assert places(texts(driver, json.dumps([config]))) == [""]
