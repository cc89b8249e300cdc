"""Users' commands in this process, on small clusters in files."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from dragoman.cli import cli
from dragoman.inventory.snapshots.snapshot import Snapshot, dump
from tests.support.worlds import inventory as builders

SCHEMA = Path(__file__).parents[2] / "docs/schemas/cli.dragoman.dev-v1alpha1.json"


class Desk:
    """A folder with a snapshot in it.

    Args:
        folder: Where files are written.
        manifests: What the cluster has.
    """

    def __init__(self, folder: Path, *manifests: Mapping[str, Any], **more: Any) -> None:
        self.folder = folder
        self.file = folder / "cluster.jsonl"
        self.write(builders.snapshot(*manifests, **more))

    def write(self, snapshot: Snapshot) -> None:
        """Write another snapshot."""
        self.file.write_bytes(b"".join(dump(snapshot, version="test")))

    def run(self, *arguments: object, status: int | None = 0) -> str:
        """Run a command on the snapshot; return what it printed, whatever its status for None."""
        result = invoke(*arguments, "--snapshot", self.file)
        assert status in (None, result.exit_code), result.output
        return result.stdout

    def document(self, *arguments: object, status: int | None = 0) -> Any:
        """Run a command with -o json; return the document, which must meet the schema."""
        found = json.loads(self.run(*arguments, "-o", "json", status=status))
        validator().validate(found)
        return found


@functools.cache
def validator() -> Any:
    """Return the validator of documents; checking the schema itself takes longer than a command."""
    schema = json.loads(SCHEMA.read_text())
    found = jsonschema.validators.validator_for(schema)
    found.check_schema(schema)
    return found(schema)


def invoke(*arguments: object, **more: Any) -> Result:
    """Run `kubectl dra …`."""
    result = CliRunner().invoke(cli, [*map(str, arguments)], prog_name="kubectl dra", **more)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
