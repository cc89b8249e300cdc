"""Schemas as dear as the CRD accepts, and 32 entries of nearly 10 KiB each for them."""

import json
from pathlib import Path
from typing import Any

from tests.bench.webhook import verdicts as measure
from tests.bench.webhook.reviews import NUMBER, body
from tests.support.worlds import driverconfigs as builders

ENTRIES = 32


def cases() -> dict[str, bytes]:
    """Return reviews by what makes their schema dear."""
    found = {}
    for index, (title, _, value) in enumerate(measure.hostile()):
        # In every entry something differs, or all but the first would be remembered.
        entries = [{**builders.KIND, "n": NUMBER, "i": i, "v": value} for i in range(ENTRIES)]
        found[title] = body(entries, _driver(index))
    return found


def write(folder: Path) -> Path:
    """Write the DriverConfigSchemas of all cases into one file."""
    documents: list[dict[str, Any]] = []
    for index, (_, schema, _) in enumerate(measure.hostile()):
        number = {"type": "integer"}
        config = builders.config({"v": schema, "n": number, "i": number})
        documents.append(builders.schema(config, name=_driver(index), driver=_driver(index)))
    path = folder / "hostile.yaml"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return path


def _driver(index: int) -> str:
    return f"hostile-{index}.example.com"
