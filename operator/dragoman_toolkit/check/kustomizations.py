"""Kustomizations and charts around the checked files: what is part of them, and what they render.

A file that a kustomization names as a patch is part of an object, and says nothing by itself.
Sources: kubectl.docs.kubernetes.io/references/kustomize/kustomization, helm.sh/docs/topics/charts,
fluxcd.io/flux/components/kustomize/kustomizations (`spec.components`),
argo-cd.readthedocs.io/en/stable/user-guide/application-specification (`source`),
helmfile.readthedocs.io.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dragoman_base.files import MAX_FILE
from dragoman_base.words import counted
from dragoman_toolkit.linting.engine import CheckedText, read
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.linting.manifests import documents
from dragoman_toolkit.linting.manifests.documents import UnreadableError
from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text
from dragoman_toolkit.manifests import STANDARD_INPUT, read_text

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART = "Chart.yaml"
PATCH = "kustomize patch"
PART = "file of a kustomization"
COMPONENT = "file of a kustomize component"
VALUES = "values file"
ASSERTION = "assertion of a test"
_JSON_PATCHES = "patchesJson6902"
_ASSERTION = re.compile(r"(?:.*-)?\d+-(assert|errors?)\b.*")
"""Files of kuttl and chainsaw with the parts that they compare (kuttl.dev/docs/testing)."""
_MAX_LEVELS = 32
"""Folders above a file that may hold a kustomization which names it."""
_MAX_PATH = 1024
_OF_SOURCE = re.compile(r"\$[\w-]+/")
"""What begins a path in another source of an Application."""
_SECONDS = 120
"""Of one rendering, which may fetch remote bases."""


@dataclass
class Layout:
    """The kustomizations and charts of checked files; each folder is looked at once."""

    parts: dict[Path, str] = field(default_factory=dict)  # Files that are no manifests, and why
    components: set[Path] = field(default_factory=set)  # Folders that Flux and Argo CD name as such
    kustomizations: dict[Path, dict[str, Any]] = field(default_factory=dict)  # By folder
    charts: list[Path] = field(default_factory=list)  # Folders
    _seen: set[Path] = field(default_factory=set)
    _charts: set[Path] = field(default_factory=set)  # Folders, of files that are not checked too

    def add(self, name: str) -> None:
        """Look for the kustomizations of a file: in its folder and in those above it."""
        folder = Path(os.path.abspath(name)).parent  # noqa: PTH100 — links stay
        for _ in range(_MAX_LEVELS):
            if folder in self._seen:
                return
            self._seen.add(folder)
            if (folder / CHART).is_file():
                self._charts.add(folder)
            for one in KUSTOMIZATIONS:
                if (folder / one).is_file():
                    self._kustomization(folder, folder / one)
                    break
            if (folder / ".git").exists() or folder == folder.parent:
                return
            folder = folder.parent

    def read(self, name: str, trees: Iterable[Any]) -> None:
        """Note which files and folders a file names that other tools than kustomize read."""
        above = Path(os.path.abspath(name)).parents  # noqa: PTH100 — links stay
        for tree in map(mapping, trees):
            for place, components, values in _used(tree):
                # A path begins at the root of its repository, whichever of the folders that is.
                folder = _there(above, place)
                self.components |= {_join(folder, one) for one in components}
                for one in values:
                    self.parts.setdefault(_there((folder, *above), one), VALUES)

    def part(self, name: str) -> str:
        """Tell why a file is no manifest; empty where it is one."""
        path = Path(os.path.abspath(name))  # noqa: PTH100 — links stay
        if path.name not in KUSTOMIZATIONS and not self._components.isdisjoint(path.parents):
            return COMPONENT
        if _ASSERTION.fullmatch(path.name):
            return ASSERTION
        values = "values" in path.stem and not self._charts.isdisjoint(list(path.parents)[:2])
        return self.parts.get(path, VALUES if values else "")

    def completed(self, name: str) -> Mapping[str, str]:
        """Return the patches that kustomizations have for a file's objects, by kind."""
        above = Path(os.path.abspath(name)).parents  # noqa: PTH100 — links stay
        folder = next((one for one in above if one in self.kustomizations), None)
        return self._patched.get(folder, {}) if folder else {}

    @cached_property
    def _patched(self) -> dict[Path, dict[str, str]]:
        """Patches by kind, by the folders whose objects they may be written into."""
        found: dict[Path, dict[str, str]] = {}
        for folder, tree in self.kustomizations.items():
            patches = [*_patches(folder, tree)]
            stack, seen = [folder] if patches else [], set[Path]()
            while stack:
                if (one := stack.pop()) not in seen and one in self.kustomizations:
                    seen.add(one)
                    here = found.setdefault(one, {})
                    for kind, content in patches:
                        here[kind] = f"{here.get(kind, '')}{content}\n"
                    stack += _named_folders(one, self.kustomizations[one])
        return found

    @cached_property
    def _components(self) -> set[Path]:
        """The components that kustomizations name: what they hold is completed by these."""
        named = {
            Path(os.path.normpath(folder / text(one)))
            for folder, tree in self.kustomizations.items()
            for one in sequence(tree.get("components"))
        } | self.components
        return {one for one in named if self.kustomizations.get(one, {}).get("kind") == "Component"}

    def _kustomization(self, folder: Path, file: Path) -> None:
        content = read_text(str(file))
        if isinstance(content, UnreadableFile):
            return
        try:
            found = [mapping(one.tree) for one in documents.read(content[1])]
        except UnreadableError:
            return  # where it was named it is reported as unreadable
        if not found or text(found[0].get("apiVersion")).partition("/")[0] not in (
            "kustomize.config.k8s.io",
            "",
        ):
            return
        self.kustomizations[folder] = found[0]
        for path, reason in _parts(found[0]):
            # A patch may also be written into the kustomization itself.
            if path and "\n" not in path and len(path) < _MAX_PATH:
                self.parts[Path(os.path.normpath(folder / path))] = reason


def _parts(tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files that a kustomization names for another use than as manifests."""

    def named(name: str, *keys: str) -> Iterator[str]:
        """Yield the files in a list: its entries, or what they have under some keys."""
        for one in sequence(tree.get(name)):
            if not keys:
                yield text(one)
            for value in (mapping(one).get(key) for key in keys):
                yield from map(text, value if isinstance(value, list) else [value])

    for name in ("patches", "patchesJson6902"):
        yield from ((one, PATCH) for one in named(name, "path"))
    yield from ((one, PATCH) for one in named("patchesStrategicMerge"))
    yield from ((one, PART) for one in named("replacements", "path"))
    for name in ("configurations", "crds", "generators", "transformers", "validators"):
        yield from ((one, PART) for one in named(name))
    yield text(mapping(tree.get("openapi")).get("path")), PART
    for name in ("configMapGenerator", "secretGenerator"):
        files = named(name, "files", "envs")
        yield from ((one.rpartition("=")[2], PART) for one in files)
    for name in ("helmCharts", "helmChartInflationGenerator"):
        values = named(name, "valuesFile", "additionalValuesFiles", "values")
        yield from ((one, VALUES) for one in values)


def _named_folders(folder: Path, tree: dict[str, Any]) -> list[Path]:
    named = [one for key in ("resources", "bases", "components") for one in _texts(tree.get(key))]
    return [Path(os.path.normpath(folder / one)) for one in named]


def _patches(folder: Path, tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the kinds that the patches of a kustomization say to be for, with the patches."""
    found: dict[tuple[str, str], set[str]] = {}  # A file may be named often: its kinds of targets
    for one in map(mapping, (*sequence(tree.get("patches")), *sequence(tree.get(_JSON_PATCHES)))):
        kind = text(mapping(one.get("target")).get("kind"))
        found.setdefault((text(one.get("patch")), text(one.get("path"))), set()).add(kind)
    for either in _texts(tree.get("patchesStrategicMerge")):
        found.setdefault((either, either), set())
    for (content, path), kinds in found.items():
        if path and "\n" not in path and len(path) < _MAX_PATH:
            read_ = read_text(str(folder / path))
            content = "" if isinstance(read_, UnreadableFile) else read_[1]  # noqa: PLW2901
        own = (text(mapping(one.tree).get("kind")) for one in read("", content).documents)
        yield from ((one, content) for one in kinds.union(own) if one)


def _used(tree: dict[str, Any]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the folders that objects of other tools name, with components and values files."""
    spec, group = mapping(tree.get("spec")), text(tree.get("apiVersion")).partition("/")[0]
    if group == "kustomize.toolkit.fluxcd.io":
        yield text(spec.get("path")), _texts(spec.get("components")), []
    elif group == "argoproj.io":
        spec = mapping(mapping(spec.get("template")).get("spec")) or spec  # of an ApplicationSet
        for one in map(mapping, [spec.get("source"), *sequence(spec.get("sources"))]):
            components = _texts(mapping(one.get("kustomize")).get("components"))
            values = _texts(mapping(one.get("helm")).get("valueFiles"))
            yield text(one.get("path")), components, [_OF_SOURCE.sub("", file) for file in values]
    elif not group and "releases" in tree:  # helmfile
        found = [*sequence(tree["releases"]), *mapping(tree.get("environments")).values()]
        yield "", [], [file for one in found for file in _texts(mapping(one).get("values"))]


def _texts(value: Any) -> list[str]:
    return [one for one in sequence(value) if isinstance(one, str) and 0 < len(one) < _MAX_PATH]


def _join(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path.lstrip("/")))


def _there(folders: Sequence[Path], path: str) -> Path:
    """Return where a path is, from the nearest of some folders that has it."""
    found = (_join(one, path) for one in folders[:_MAX_LEVELS]) if len(path) < _MAX_PATH else ()
    return next((one for one in found if os.path.exists(one)), folders[0])  # noqa: PTH110 — any text


def layout(sources: Iterable[CheckedText]) -> Layout:
    """Find the kustomizations and charts of files."""
    found = Layout()
    for source in sources:
        if source.name == STANDARD_INPUT:
            continue
        found.add(source.name)
        found.read(source.name, (one.tree for one in source.documents))
        path = Path(source.name)
        if path.name == CHART:
            found.charts.append(path.parent)
    return found


def kustomization_folders(found: Layout, names: Iterable[str]) -> list[Path]:
    """Return the folders of checked kustomizations that no other one uses, as they were named."""
    named = {Path(name).parent for name in names if Path(name).name in KUSTOMIZATIONS}
    used = {
        one for folder, tree in found.kustomizations.items() for one in _named_folders(folder, tree)
    }
    whole = {
        folder for folder, tree in found.kustomizations.items() if tree.get("kind") != "Component"
    }
    return sorted(
        one
        for one in named
        if (place := Path(os.path.abspath(one))) in whole and place not in used  # noqa: PTH100
    )


def chart_folders(found: Layout) -> list[Path]:
    """Return the folders of charts that are no dependency of another one, and no library."""
    charts = set(found.charts)
    return sorted(
        one
        for one in charts
        if not any(above in charts for above in one.parents) and not _is_library(one)
    )


def _is_library(chart: Path) -> bool:
    content = read_text(str(chart / CHART))
    try:
        trees = [] if isinstance(content, UnreadableFile) else list(documents.read(content[1]))
    except UnreadableError:
        return False
    return any(mapping(one.tree).get("type") == "library" for one in trees)


@dataclass(frozen=True, slots=True)
class Renderer:
    """A tool that makes manifests."""

    noun: str  # What it renders
    option: str  # Of the check
    commands: tuple[tuple[str, ...], ...]  # The first whose program is installed is run

    def command(self, folder: Path) -> list[str] | None:
        """Return the command for a folder; None where no program is installed."""
        for one in self.commands:
            if shutil.which(one[0]):
                return [*one, str(folder)]
        return None

    def line(self, folder: Path) -> str:
        """Return the line to type."""
        words = self.command(folder) or [*self.commands[0], str(folder)]
        return f"{' '.join(words)} | dragoman check -"


KUSTOMIZE = Renderer(
    "kustomization", "--kustomize", (("kustomize", "build"), ("kubectl", "kustomize"))
)
HELM = Renderer("chart", "--helm", (("helm", "template", "release"),))


def render(renderer: Renderer, folders: Iterable[Path]) -> Iterator[CheckedText | UnreadableFile]:
    """Render folders; yield the manifests of each, or why there are none."""
    for folder in folders:
        command = renderer.command(folder)
        if command is not None:
            yield _rendered(command, folder)


def _rendered(command: list[str], folder: Path) -> CheckedText | UnreadableFile:
    name = f"{folder} ({' '.join(command[:2])})"
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(  # noqa: S603 — the program that the user asked for
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return UnreadableFile(name, 0, 0, str(error))
        if done.returncode:
            errors.seek(0)
            said = errors.read(4096).decode("utf-8", "replace").strip()
            return UnreadableFile(name, 0, 0, " ".join(said.split()) or "failed")
        output.seek(0)
        content = output.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        return UnreadableFile(name, 0, 0, f"renders more than {MAX_FILE >> 20} MiB")
    source = read(name, content.decode("utf-8", "replace"))
    source.rendered = True
    return source


def note(renderer: Renderer, folders: list[Path], *, asked: bool) -> str:
    """Say how to check what is rendered of folders; empty where it is checked already."""
    if not folders or (asked and renderer.command(folders[0])):
        return ""
    found = f"{counted(len(folders), renderer.noun)} found"
    if asked:
        missing = " nor ".join(one[0] for one in renderer.commands)
        return (
            f"{found}; {'neither ' if len(renderer.commands) > 1 else 'no '}{missing} is installed:"
            f" {renderer.line(folders[0])}"
        )
    return f"{found}; {renderer.option} checks what is rendered, as {renderer.line(folders[0])}"
