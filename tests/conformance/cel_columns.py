"""Record what the CEL of newer Kubernetes versions answers to the selectors of the vectors.

    python -m tests.conformance.cel_columns 1.37 1.38

The vectors beside the repository hold answers of an earlier pre-release for 1.37, and none for what
came after. `cel.py` reads the answers of these versions from data/cel-columns.json.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.oracle import cel_oracle

HERE = Path(__file__).parent
VECTORS = HERE.parents[2] / "shared" / "vectors"
RECORD = HERE / "data" / "cel-columns.json"
FILES = ("dra-cel-vectors.json", "dra-cel-vectors-extended.json")
RECORDED = ("1.37", "1.38")
SETTINGS: Mapping[str, dict[str, bool]] = {
    "stored": {},
    "stored, lists": {"listAttributes": True},
    "new": {"newExpressions": True},
    "new, lists": {"newExpressions": True, "listAttributes": True},
}
"""In which environments each selector is asked about."""
Answer = dict[str, Any]


def rows(name: str) -> Iterator[tuple[str, str, Answer]]:
    """Yield a name, the expression and the device of each selector of a file, each once."""
    data = json.loads((VECTORS / name).read_text())
    seen = set()
    for row in data["vectors"]:
        device = data["devices"][row["device"]] if "devices" in data else row
        key = row.get("id") or row["name"]
        if key not in seen:
            seen.add(key)
            yield key, row["expression"], device


def device_of(row: Answer) -> Answer:
    """Return a device of the vectors in the API's form, with its driver."""
    return {
        "driver": row["driver"],
        "attributes": row["attributes"],
        "capacity": {name: {"value": value} for name, value in row["capacity"].items()},
        "allowMultipleAllocations": row["allowMultipleAllocations"],
    }


def recorded() -> dict[str, Any]:
    """Return the answers by version, file, name of the selector and environment."""
    return dict(json.loads(RECORD.read_text())) if RECORD.exists() else {}


def record(kubernetes: str) -> dict[str, Any]:
    """Ask about every selector in every environment."""
    found: dict[str, Any] = {}
    with cel_oracle(kubernetes) as oracle:
        for name in FILES:
            asked = [
                (key, setting, text, row) for key, text, row in rows(name) for setting in SETTINGS
            ]
            requests = [
                {
                    "op": "dra",
                    "expression": text,
                    "device": device_of(row),
                    "features": {"consumableCapacity": True, **SETTINGS[setting]},
                }
                for _, setting, text, row in asked
            ]
            answers: dict[str, dict[str, Answer]] = {}
            for (key, setting, _, _), answer in zip(asked, oracle.ask_all(requests), strict=True):
                answers.setdefault(key, {})[setting] = answer
            found[name] = {key: _folded(columns) for key, columns in answers.items()}
    return found


def _folded(columns: dict[str, Answer]) -> dict[str, Answer]:
    """Write equal answers once: the names of their environments are joined."""
    found: dict[str, tuple[list[str], Answer]] = {}
    for setting, answer in columns.items():
        found.setdefault(json.dumps(answer, sort_keys=True), ([], answer))[0].append(setting)
    return {"; ".join(settings): answer for settings, answer in found.values()}


def main(versions: list[str]) -> None:
    """Record versions; those of the others stay."""
    known = recorded()
    for kubernetes in versions or RECORDED:
        known[kubernetes] = record(kubernetes)
    lines = []
    for kubernetes, files in sorted(known.items()):
        parts = []
        for name, answers in files.items():
            inner = ",\n".join(
                f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}"
                for key, value in answers.items()
            )
            parts.append(f"{json.dumps(name)}: {{\n{inner}\n}}")
        lines.append(f"{json.dumps(kubernetes)}: {{\n" + ",\n".join(parts) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
