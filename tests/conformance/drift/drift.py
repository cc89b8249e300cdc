"""Compare the fields of the catalog's schemas with those of the drivers' Go types.

`make catalog-drift` downloads the modules that `modules.yaml` pins, extracts their fields with
`types.go`, writes them to `types.json`, and lists the differences. The test beside this module
compares the schemas with the recorded `types.json`, so that it needs neither Go nor a network.

Exit status: 0 without differences, 1 with differences, 2 where a module is unavailable: the Go
module proxy does not serve every driver. Its recorded fields are then compared.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from dragoman_configs import catalog

HERE = Path(__file__).parent
RECORDED = HERE / "types.json"
UNAVAILABLE = 2
"""Exit status where a module cannot be read."""

Fields = Mapping[str, str]
"""Types by path: `.vf.vlan` of a struct, `.addresses[]` of items, `.features{}` of values."""

_GO_TYPES: Mapping[str, str] = {
    "string": "string",
    "bool": "boolean",
    "object": "object",
    "map": "object",
    "array": "array",
    "resource.Quantity": "quantity",
    # Any JSON value: the schema says what it wants of it.
    "runtime.RawExtension": "any",
}
_INTEGERS = frozenset(
    f"{sign}int{width}" for sign in ("", "u") for width in ("", "8", "16", "32", "64")
)


def modules() -> list[dict[str, Any]]:
    """Read the pins: which Go types each schema describes."""
    pins: list[dict[str, Any]] = yaml.safe_load((HERE / "modules.yaml").read_text())
    return pins


def differences(pin: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[str]:
    """List the differences between one schema and its driver's types, a sentence each.

    Args:
        pin: an entry of `modules.yaml`.
        recorded: what `record` extracted from its module.
    """
    for file in recorded.get("readers", ()):
        yield f"{pin['schema']}: {file} reads configs, and the schema says that there are none"
    if "without" in pin:
        return
    types: Mapping[str, Fields] = recorded["types"]
    ignored = frozenset(pin.get("ignored", ()))
    for kind, name in pin["types"].items():
        where = " ".join(filter(None, (pin["schema"], kind)))
        for schema in _schemas(pin["schema"], kind):
            described = dict(described_fields(schema))
            declared = {
                path: _json_type(go) for path, go in types[name].items() if path not in ignored
            }
            yield from _compared(where, declared, described)


def described_fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the paths and types of a schema's fields, in the notation of `types.go`."""
    for name, child in (schema.get("properties") or {}).items():
        yield from _described(child, f"{path}.{name}")


def _described(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    quantity = schema.get("format") == "quantity"
    yield path, "quantity" if quantity else str(schema.get("type", "any"))
    for word, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(word), dict):
            yield from _described(schema[word], path + suffix)
    yield from described_fields(schema, path)


def _compared(where: str, declared: Fields, described: Fields) -> Iterator[str]:
    free = [path for path, kind in declared.items() if kind == "any"]
    for path in sorted(declared.keys() | described.keys()):
        if any(path.startswith(f"{parent}.") for parent in free):
            continue
        if path not in described:
            yield f"{where}: {path} is in the driver's types and not in the schema"
        elif path not in declared:
            yield f"{where}: {path} is in the schema and not in the driver's types"
        elif declared[path] != described[path] and path not in free:
            yield f"{where}: {path} is {described[path]} in the schema, {declared[path]} in Go"


def _json_type(go: str) -> str:
    return "integer" if go in _INTEGERS else _GO_TYPES.get(go, go)


def _schemas(name: str, kind: str) -> Iterator[Mapping[str, Any]]:
    """Find the schemas of one kind; a kind can be listed under several apiVersions."""
    defaults = {one["metadata"]["name"]: one for one in catalog.schemas()}
    document = {**defaults, **catalog.releases()}[name]
    for config in document["spec"]["configs"]:
        if config.get("kind", "") == kind:
            yield config["schema"]["openAPIV3Schema"]


def record(pin: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Extract the fields of one pinned module.

    Args:
        pin: an entry of `modules.yaml`.
        folder: holds the module already; it is downloaded otherwise.

    Raises:
        Unavailable: the module cannot be downloaded, or lacks a type.
    """
    folder = folder or _download(f"{pin['module']}@{pin['version']}")
    if "without" in pin:
        return {"version": pin["version"], "readers": [*_readers(folder, pin["without"])]}
    command = ["go", "run", str(HERE / "types.go"), str(folder / pin["package"])]
    output = _output([*command, *dict.fromkeys(pin["types"].values())])
    return {"version": pin["version"], "types": json.loads(output)}


def _readers(folder: Path, text: str) -> Iterator[str]:
    """Yield the Go files that read configs; those of tests and of dependencies do not count."""
    for path in sorted(folder.rglob("*.go")):
        inside = path.relative_to(folder)
        if inside.parts[0] == "vendor" or path.name.endswith("_test.go"):
            continue
        if text in path.read_text(errors="replace"):
            yield str(inside)


class Unavailable(Exception):  # noqa: N818 — says what the module is
    """A module that cannot be read; the message says why."""


def _download(module: str) -> Path:
    """Fetch a module through the Go module proxy; the download runs nothing of it."""
    return Path(json.loads(_output(["go", "mod", "download", "-json", module]))["Dir"])


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable((done.stderr + done.stdout).strip())
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Renew `types.json` and print the differences.

    Returns:
        The exit status, as above.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="SCHEMA=FOLDER",
        help="a folder that holds the module of a schema, in place of a download",
    )
    given = parser.parse_args(arguments).source
    sources = {name: Path(folder) for name, _, folder in (one.partition("=") for one in given)}
    recorded = json.loads(RECORDED.read_text())
    pins: dict[str, Any] = {pin["schema"]: pin for pin in modules()}
    missing: list[str] = []
    for name, pin in pins.items():
        try:
            recorded[name] = record(pin, sources.get(name))
        except Unavailable as error:
            missing.append(name)
            print(f"{name}: {pin['module']} is unavailable: {error}", file=sys.stderr)
    found = {name: recorded[name] for name in pins if name in recorded}
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    listed = [line for name in found for line in differences(pins[name], found[name])]
    print("\n".join(listed) or f"{len(found)} schemas agree with their drivers")
    if missing:
        print(
            f"{len(missing)} of {len(pins)} modules are unavailable, compared as last recorded: "
            f"{', '.join(missing)}; --source SCHEMA=FOLDER reads a folder instead",
            file=sys.stderr,
        )
    return UNAVAILABLE if missing else int(bool(listed))


if __name__ == "__main__":
    sys.exit(main())
