"""What Go needs to build pinned modules of a Kubernetes version: its toolchain, and stand-ins.

A file of modules names its toolchain. Where it requires a module of a pre-release that nobody
publishes yet, the module is made of the one before, and is offered to Go as a module proxy offers
one. Once it is published, it is deleted from `STANDINS`, and `go mod tidy` pins the real one.
"""

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.controlplane.toolchain import toolchain

_PUBLISHED = "k8s.io/apiextensions-apiserver@v0.37.2"
_DROPPED = ("conversion.go", "zz_generated.conversion.go")


@dataclass(frozen=True, slots=True)
class Standin:
    """A module that is required, but not published."""

    module: str  # Its path
    version: str  # The one that is required
    source: str  # The module with the same packages before, with its version
    folders: tuple[str, ...]  # What is taken of the source
    renamed: Mapping[str, str]  # Import paths in the source, and those here
    added: Mapping[str, str]  # Files that the source has no equal of, by path
    requires: Mapping[str, str]  # Modules that it requires, with versions
    go: str  # The version of the language


_API = "pkg/apis/apiextensions"
_LITERAL = "package {}\n\nvar nullLiteral = []byte(`null`)\n"
STANDINS = (
    Standin(
        module="k8s.io/apiextensions-api",
        version="v0.38.0-beta.0",
        source=_PUBLISHED,
        folders=(f"{_API}/v1", f"{_API}/v1beta1", "pkg/client"),
        renamed={
            "k8s.io/apiextensions-apiserver/pkg": "k8s.io/apiextensions-api/pkg",
            "sigs.k8s.io/structured-merge-diff/v6": "sigs.k8s.io/structured-merge-diff/v7",
        },
        added={f"{_API}/{name}/literal.go": _LITERAL.format(name) for name in ("v1", "v1beta1")},
        requires={
            "k8s.io/api": "v0.38.0-beta.0",
            "k8s.io/apimachinery": "v0.38.0-beta.0",
            "k8s.io/client-go": "v0.38.0-beta.0",
        },
        go="1.27.0",
    ),
)


def environment(modules: Path, go: str, cache: Path) -> dict[str, str]:
    """Return the variables that Go needs for a file of modules, beside its own.

    Args:
        modules: The file, such as a go.mod.
        go: The command.
        cache: Folder for what is made.
    """
    text = modules.read_text()
    found = toolchain(modules)
    needed = [one for one in STANDINS if f"{one.module} {one.version}" in text]
    if needed:
        folder = cache / "standins"
        settings = _settings(go)
        for one in needed:
            publish(one, folder, go)
        names = ",".join(one.module for one in needed)
        found["GOPROXY"] = f"file://{folder},{settings['GOPROXY']}"
        found["GONOSUMDB"] = ",".join(filter(None, (names, settings["GONOSUMDB"])))
    return found


def _settings(go: str) -> dict[str, str]:
    asked = [go, "env", "-json", "GOPROXY", "GONOSUMDB"]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True)
    return dict(json.loads(answer.stdout))


def publish(one: Standin, folder: Path, go: str) -> None:
    """Write a stand-in as a module proxy has it, unless it is there."""
    home = folder / one.module / "@v"
    archive = home / f"{one.version}.zip"
    if archive.exists():
        return
    home.mkdir(parents=True, exist_ok=True)
    files = {**_taken(one, _source(one.source, go)), "go.mod": _module(one)}
    (home / f"{one.version}.mod").write_text(files["go.mod"])
    (home / f"{one.version}.info").write_text(json.dumps({"Version": one.version}))
    (home / "list").write_text(f"{one.version}\n")
    unfinished = archive.with_name(f"{archive.name}.{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in sorted(files.items()):
            written.writestr(f"{one.module}@{one.version}/{name}", text)
    shutil.move(unfinished, archive)


def _source(module: str, go: str) -> Path:
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOWORK": "off"}
    asked = [go, "mod", "download", "-json", module]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment)
    return Path(json.loads(answer.stdout)["Dir"])


def _taken(one: Standin, source: Path) -> dict[str, str]:
    found = dict(one.added)
    for folder in one.folders:
        for path in sorted((source / folder).rglob("*.go")):
            if path.name in _DROPPED or path.name.endswith("_test.go"):
                continue
            text = path.read_text()
            for before, after in one.renamed.items():
                text = text.replace(f'"{before}', f'"{after}')
            found[str(path.relative_to(source))] = text
    return found


def _module(one: Standin) -> str:
    required = "".join(f"\t{name} {version}\n" for name, version in one.requires.items())
    return f"module {one.module}\n\ngo {one.go}\n\nrequire (\n{required})\n"
