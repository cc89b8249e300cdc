"""`.dragoman.yaml`: what a project chooses for its checks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman_base.words.nearnames import nearest
from dragoman_toolkit.linting.findings.finding import SEVERITIES, UnreadableFile
from dragoman_toolkit.linting.manifests.documents import UnreadableError, read
from dragoman_toolkit.linting.rules.table import RULES
from dragoman_toolkit.manifests import read_text
from dragoman_toolkit.unusable import UnusableInput

NAME = ".dragoman.yaml"
CATALOG = "catalog"
"""The source of the schemas that are shipped."""
KIND = "DriverConfigSchema"
_VERSION = re.compile(r"[a-z0-9.-]+/v[0-9]+((alpha|beta)[0-9]+)?", re.ASCII)
_LISTS = ("exclude", "schemas", "variables", "slices", "runtimeConfig", "featureGates")


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The content of a settings file; command-line options beat it."""

    kubernetes: str = ""  # Version to check for; empty for the newest known
    target: str = ""  # Version that the cluster is upgraded to; empty for none
    rules: dict[str, str] = field(default_factory=dict)  # Severity by rule
    exclude: tuple[str, ...] = ()  # Patterns of files to leave out
    schemas: tuple[str, ...] = ()  # Further sources of schemas
    variables: tuple[str, ...] = ()  # Variables of schemas
    slices: tuple[str, ...] = ()  # Files of ResourceSlices
    runtimeConfig: tuple[str, ...] = ()  # noqa: N815 — Versions that are served on demand
    featureGates: tuple[str, ...] = ()  # noqa: N815 — Feature gates that differ
    strict: bool = False  # Whether warnings and skipped objects fail the check
    complete: bool = False  # Whether the input holds everything that its objects name


def find_settings(start: Path) -> Path | None:
    """Find the settings file of a folder or of the nearest one above it, up to the repository."""
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder / NAME
        if (folder / ".git").exists():
            return None
    return None


def load_settings(path: Path) -> CheckSettings:
    """Read a settings file.

    Raises:
        UnusableInput: It cannot be read, or says something unknown; the words name file and field.
    """
    content = read_text(str(path))
    if isinstance(content, UnreadableFile):
        raise UnusableInput(str(content))
    try:
        documents = list(read(content[1]))
    except UnreadableError as error:
        raise UnusableInput(f"{path}:{error.line}:{error.column}: {error}") from None
    tree = documents[0].tree if documents else {}
    if len(documents) > 1 or not isinstance(tree, dict):
        raise UnusableInput(f"{path}: must hold one mapping")
    return _parsed(path, tree)


def _parsed(path: Path, tree: dict[str, Any]) -> CheckSettings:
    known = list(CheckSettings.__slots__)
    for name in tree:
        if name not in known:
            guess = nearest(name, known)
            hint = f'; did you mean "{guess}"?' if guess else f"; known: {', '.join(known)}"
            raise UnusableInput(f"{path}: unknown field {name}{hint}")
    lists = {name: _strings(path, name, tree.get(name)) for name in _LISTS}
    for name in ("strict", "complete"):
        if not isinstance(tree.get(name, False), bool):
            raise UnusableInput(f"{path}: {name} must be true or false")
    rules = tree.get("rules") or {}
    if not isinstance(rules, dict):
        raise UnusableInput(f"{path}: rules must map rules to severities")
    return CheckSettings(
        kubernetes=str(tree.get("kubernetes") or ""),
        target=str(tree.get("target") or ""),
        # YAML reads a bare `off` as false.
        rules=severities(
            (f"{rule}={'off' if value is False else value}" for rule, value in rules.items()),
            f"{path}: rules",
        ),
        strict=tree.get("strict", False),
        complete=tree.get("complete", False),
        **lists,
    )


def _strings(path: Path, name: str, value: Any) -> tuple[str, ...]:
    values = [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise UnusableInput(f"{path}: {name} must be a list of strings")
    return tuple(values)


def severities(settings: Any, where: str) -> dict[str, str]:
    """Read `rule=severity` settings.

    Raises:
        UnusableInput: An unknown rule or severity.
    """
    found: dict[str, str] = {}
    for setting in settings:
        rule, _, severity = str(setting).partition("=")
        if rule not in RULES:
            guess = nearest(rule, RULES)
            hint = f'did you mean "{guess}"?' if guess else f"known: {', '.join(RULES)}"
            raise UnusableInput(f"{where}: unknown rule {rule}; {hint}")
        if severity not in SEVERITIES:
            raise UnusableInput(f"{where}: {rule} must be one of {', '.join(SEVERITIES)}")
        found[rule] = severity
    return found


def served_versions(settings: Iterable[str]) -> frozenset[str]:
    """Read versions in the form of the API server's --runtime-config, commas between them.

    Raises:
        UnusableInput: Something that is no group and version.
    """
    found = set()
    for one in (part for setting in settings for part in setting.split(",")):
        version, _, switch = one.strip().partition("=")
        if not _VERSION.fullmatch(version) or switch not in ("", "true", "false"):
            raise UnusableInput(
                f"--runtime-config {one}: must be GROUP/VERSION, such as resource.k8s.io/v1beta2"
            )
        if switch != "false":
            found.add(version)
    return frozenset(found)


def feature_gates(settings: Iterable[str]) -> dict[str, bool]:
    """Read feature gates in the form of the API server's --feature-gates, commas between them.

    Raises:
        UnusableInput: Something that is no gate with true or false.
    """
    found = {}
    for one in (part for setting in settings for part in setting.split(",")):
        gate, _, switch = one.strip().partition("=")
        if not gate or switch not in ("true", "false"):
            raise UnusableInput(
                f"--feature-gates {one}: must be GATE=true or GATE=false, such as"
                " DRADeviceTaints=true"
            )
        found[gate] = switch == "true"
    return found
