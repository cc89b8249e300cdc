"""The tables of verdicts in `data/`: what each driver does at prepare time, case by case."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dragoman_base.files import yamltext

DATA = Path(__file__).parents[2] / "unit/configs/data"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a table.

    Attributes:
        driver: Name of the catalog's object, which is the driver's; `DRIVER@RELEASE` for those of
            earlier releases.
        title: What the case is about.
        parameters: The parameters as they are written, as JSON.
        source: `Claim` or `Class`.
        errors: What the driver refuses, as place and kind of fault.
        warnings: What it ignores.
        settings: Variables of the whole table.
        changes: Variables that are otherwise in this case.
    """

    driver: str
    title: str
    parameters: str
    source: str
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    settings: Mapping[str, Any]
    changes: Mapping[str, Any]


@cache
def drivers() -> tuple[str, ...]:
    """List the objects that have a table: drivers, and `DRIVER@RELEASE` for earlier releases."""
    return tuple(
        sorted(path.stem for folder in (DATA, DATA / "releases") for path in folder.glob("*.yaml"))
    )


def cases(driver: str) -> Iterator[Case]:
    """Read the table of one driver."""
    table = _table(driver)
    for row in table["cases"]:
        yield Case(
            driver,
            row["case"],
            _parameters(table, row),
            row.get("source", "Claim"),
            tuple(row.get("errors", ())),
            tuple(row.get("warnings", ())),
            table.get("variables", {}),
            row.get("variables", {}),
        )


@cache
def _table(driver: str) -> Any:
    place = DATA / "releases" if "@" in driver else DATA
    return yamltext.own((place / f"{driver}.yaml").read_text())


def _parameters(table: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    written = row["json"] if "json" in row else json.dumps(row["parameters"])
    implied = {} if row.get("bare") else dict(table.get("discriminator", {}))
    if "kind" in row:
        implied["kind"] = row["kind"]
    # Joined as text, since a repeated key would not survive in a dictionary.
    members = [text[1:-1] for text in (json.dumps(implied), written) if text != "{}"]
    return "{" + ", ".join(members) + "}"
