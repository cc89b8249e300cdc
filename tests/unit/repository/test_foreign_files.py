"""No file that somebody else wrote is read but by `dragoman_base.files`."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
READER = "operator/dragoman_base/files/"
METHODS = {"read_text", "read_bytes", "open", "fdopen", "GzipFile"}
PARSERS = {"yaml", "tomllib", "csv", "zipfile", "tarfile", "gzip", "mmap"}
"""Modules of which any call counts."""
MODULES = {"files", "documents", "resources"}
"""The reader, by the names that it is imported with."""
OWN = {
    "operator/dragoman/cli/__init__.py: os.open": "/dev/null",
    "operator/dragoman/cli/__init__.py: Path(os.devnull).open": "/dev/null",
    "operator/dragoman/doctor/verdicts/__init__.py: path.read_text": "shipped",
    "operator/dragoman/kube/controller.py: self.queue.open": "a work queue",
    "operator/dragoman_drivers/conformance/checks.py: CHANGES.read_bytes": "shipped",
    "operator/dragoman_drivers/conformance/checks.py: FILE.read_bytes": "shipped",
    "operator/dragoman_drivers/conformance/reaper.py: (folder / 'stat').read_text": (
        "a line of the kernel in /proc; nothing can be imported there"
    ),
    "operator/dragoman_drivers/pretend/checkpoint.py: self._lock.open": "written",
    "operator/dragoman_drivers/pretend/driver.py: target.read_text": "written by itself before",
    "operator/dragoman_drivers/throwaway/downloads.py: file.open": "verified by its digest",
    "operator/dragoman_drivers/throwaway/downloads.py: partial.open": "written",
    "operator/dragoman_drivers/throwaway/downloads.py: pins.read_text": "shipped",
    "operator/dragoman_drivers/throwaway/downloads.py: tarfile.open": "verified by its digest",
    "operator/dragoman_drivers/throwaway/downloads.py: tarfile.ReadError": "raised, reads nothing",
    "operator/dragoman_drivers/throwaway/downloads.py: unpacked.open": "written",
    "operator/dragoman_drivers/throwaway/downloads.py: opener.open": "HTTP, bounded there",
    "operator/dragoman_drivers/throwaway/process.py: self.log.open": "written",
    "operator/dragoman_toolkit/check/explaining.py: _PAGES.read_text": "shipped",
    "operator/dragoman_toolkit/check/schemas.py: path.read_text": "shipped",
    "operator/dragoman_toolkit/replacing.py: os.fdopen": "written",
    "operator/dragoman_toolkit/replacing.py: os.open": "written, and a folder to flush it",
    "operator/dragoman_toolkit/dra/doctor/upgrade.py: gzip.GzipFile": "of a file that is open",
    "operator/dragoman_toolkit/dra/ui/render.py: (files(_PACKAGE) / 'static' / name).read_text": (
        "shipped"
    ),
    "operator/dragoman_toolkit/dra/ui/serving.py: webbrowser.open": "a browser",
    "operator/dragoman_toolkit/linting/knowledge/api.py: (folder / name).read_text": "shipped",
    "operator/dragoman_toolkit/linting/knowledge/devices.py: (folder / 'devices.json').read_text": (
        "shipped"
    ),
    "webhooks/dragoman_configs/catalog.py: path.read_text": "shipped",
    "webhooks/dragoman_webhooks/http/connection.py: self._bodies.open": "a body of a request",
}
"""Calls that read nothing of others, each with what it reads."""


def calls(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that read a file, or parse YAML."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in {"open", "GzipFile"}:
            yield called.id
        if isinstance(called, ast.Attribute):
            of = called.value.id if isinstance(called.value, ast.Name) else ""
            if (of in PARSERS and "dump" not in called.attr) or (
                called.attr in METHODS and of not in MODULES
            ):
                yield ast.unparse(called)


def found() -> set[str]:
    sources = (path for root in ("operator", "webhooks") for path in (ROOT / root).rglob("*.py"))
    texts = {path: path.read_text() for path in sources if READER not in str(path)}
    return {
        f"{path.relative_to(ROOT)}: {call}"
        for path, text in texts.items()
        if any(f"{word}(" in text for word in METHODS) or any(f"{p}." in text for p in PARSERS)
        for call in calls(ast.parse(text))
    }


def test_readers_that_go_round_the_reader_are_found() -> None:
    code = "path.read_text()\nwith p.open() as f: yaml.safe_load(f)\nopen('x')\nfiles.read_text(p)"
    assert {*calls(ast.parse(code))} == {"path.read_text", "p.open", "yaml.safe_load", "open"}


def test_files_of_others_are_read_by_the_one_reader() -> None:
    assert found() - OWN.keys() == set()
    assert OWN.keys() - found() == set(), "what is here no more"
