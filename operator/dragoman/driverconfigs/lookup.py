"""The choice: which config of which object describes some parameters?

By apiVersion and kind first, then by apiVersion alone, then the config that has neither: a good
part of the drivers' configs carry no kind, so a lookup by kind alone would miss them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from dragoman.driverconfigs import fielderrors
from dragoman.driverconfigs.compiler import CompiledConfig
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.registry import Installed
from dragoman.driverconfigs.suggestions import nearest

Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The object that decides about some parameters.

    Attributes:
        installed: the object.
        kind: apiVersion and kind of the config that was chosen.
        config: the config; None when nothing of the object is in force.
    """

    installed: Installed
    kind: Kind
    config: CompiledConfig | None


def choose(candidates: Iterable[Installed], value: Any) -> Chosen | None:
    """Choose among the objects of one driver, in their order of precedence.

    An object of which nothing is in force still stands for the kinds it lists, and for every kind
    that no other object lists: without its schema nobody knows what it would say.

    Returns:
        None when every object is in force and none lists the kind.
    """
    api_version, kind = _discriminator(value)
    candidates = tuple(candidates)
    for wanted in ((api_version, kind), (api_version, ""), ("", "")):
        for installed in candidates:
            if installed.force is not None and wanted in installed.force.configs:
                return Chosen(installed, wanted, installed.force.configs[wanted])
            if installed.force is None and wanted in _listed(installed):
                return Chosen(installed, wanted, None)
    broken = next((installed for installed in candidates if installed.force is None), None)
    return Chosen(broken, (api_version, kind), None) if broken else None


def unlisted(
    candidates: tuple[Installed, ...], value: Any
) -> tuple[str, Installed, tuple[Finding, ...]]:
    """Say what is wrong with parameters of a kind that no object lists.

    Returns:
        The policy for such parameters, the object that sets it, and the complaints.
    """
    owner = candidates[0]
    kinds = {kind for one in candidates if one.force for kind in one.force.configs}
    policy = owner.force.unknown_configs if owner.force else owner.parsed.unknown_configs
    if not isinstance(value, dict):
        return (
            policy,
            owner,
            (fielderrors.finding((), fielderrors.TYPE_INVALID, "must be an object"),),
        )
    if not kinds:
        detail = f"driver {owner.parsed.driver} takes no configuration"
        return policy, owner, (fielderrors.Finding("", fielderrors.FORBIDDEN, detail),)
    return policy, owner, _complaints(kinds, value)


def _discriminator(value: Any) -> Kind:
    if not isinstance(value, dict):
        return "", ""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return (
        api_version if isinstance(api_version, str) else "",
        kind if isinstance(kind, str) else "",
    )


def _listed(installed: Installed) -> frozenset[Kind]:
    return frozenset((config.api_version, config.kind) for config in installed.parsed.configs)


def _complaints(kinds: Collection[Kind], value: dict[str, Any]) -> tuple[Finding, ...]:
    api_version, kind = _discriminator(value)
    versions = {version for version, _ in kinds}
    names = {name for version, name in kinds if version == api_version} or {n for _, n in kinds}
    found = []
    if api_version not in versions:
        found.append(_unsupported("apiVersion", value.get("apiVersion"), versions))
    if kind not in names:
        found.append(_unsupported("kind", value.get("kind"), names))
    return tuple(found)


def _unsupported(name: str, value: Any, supported: Collection[str]) -> Finding:
    listed = ", ".join(f'"{one}"' for one in sorted(supported) if one)
    if value in (None, ""):
        return fielderrors.finding((name,), fielderrors.REQUIRED, f"supported values: {listed}")
    guess = nearest(value, supported) if isinstance(value, str) else None
    hint = f'; did you mean "{guess}"?' if guess else ""
    return fielderrors.finding(
        (name,), fielderrors.NOT_SUPPORTED, f"supported values: {listed}{hint}", value
    )
