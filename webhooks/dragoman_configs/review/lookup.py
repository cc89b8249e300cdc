"""Find the config that describes some parameters.

The look-up is by apiVersion and kind first, then by apiVersion alone, then for the config that has
neither: many drivers' configs carry no kind, so a look-up by kind alone would miss them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman_base.words.spelling import closest
from dragoman_configs import fielderrors
from dragoman_configs.compile.compiler import CompiledConfig
from dragoman_configs.compile.registry import RegisteredSchema
from dragoman_configs.fielderrors import ConfigFieldError

Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ConfigMatch:
    """The object that decides about some parameters."""

    registered: RegisteredSchema  # The object
    kind: Kind  # `apiVersion` and kind of the config that matches
    config: CompiledConfig | None  # The config; None when the object has no active schema


def find_config(candidates: Sequence[RegisteredSchema], value: Any) -> ConfigMatch | None:
    """Find the config for parameters among the objects of one driver, in order of precedence.

    An object without an active schema matches the kinds it lists, and every kind that no other
    object lists, because its next generation may describe them.

    Returns:
        None when every object has an active schema and none lists the kind.
    """
    api_version, kind = _discriminator(value)
    for wanted in ((api_version, kind), (api_version, ""), ("", "")):
        for registered in candidates:
            if registered.active is not None and wanted in registered.active.configs:
                return ConfigMatch(registered, wanted, registered.active.configs[wanted])
            if registered.active is None and wanted in registered.kinds:
                return ConfigMatch(registered, wanted, None)
    broken = next((one for one in candidates if one.active is None), None)
    return ConfigMatch(broken, (api_version, kind), None) if broken else None


def unknown_kind(
    candidates: Sequence[RegisteredSchema], value: Any
) -> tuple[str, RegisteredSchema, tuple[ConfigFieldError, ...]]:
    """Give the errors of parameters whose kind no object lists.

    Returns:
        The policy for such parameters, the object that sets it, and the errors.
    """
    owner = candidates[0]
    kinds = {kind for one in candidates if one.active for kind in one.active.configs}
    policy = owner.active.unknown_configs if owner.active else owner.parsed.unknown_configs
    if not isinstance(value, dict):
        error = fielderrors.field_error((), fielderrors.TYPE_INVALID, "must be an object")
        return policy, owner, (error,)
    if not kinds:
        detail = f"driver {owner.parsed.driver} takes no configuration"
        return policy, owner, (ConfigFieldError("", fielderrors.FORBIDDEN, detail),)
    return policy, owner, _discriminator_errors(kinds, value)


def _discriminator(value: Any) -> Kind:
    if not isinstance(value, dict):
        return "", ""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return (
        api_version if isinstance(api_version, str) else "",
        kind if isinstance(kind, str) else "",
    )


def _discriminator_errors(
    kinds: Collection[Kind], value: dict[str, Any]
) -> tuple[ConfigFieldError, ...]:
    api_version, kind = _discriminator(value)
    versions = {version for version, _ in kinds}
    names = {name for version, name in kinds if version == api_version} or {n for _, n in kinds}
    errors = []
    if api_version not in versions:
        errors.append(_unsupported("apiVersion", value.get("apiVersion"), versions))
    if kind not in names:
        errors.append(_unsupported("kind", value.get("kind"), names))
    return tuple(errors)


def _unsupported(name: str, value: Any, supported: Collection[str]) -> ConfigFieldError:
    listed = ", ".join(f'"{one}"' for one in sorted(supported) if one)
    if value in (None, ""):
        return fielderrors.field_error((name,), fielderrors.REQUIRED, f"supported values: {listed}")
    guess = closest(value, supported) if isinstance(value, str) else None
    hint = f'; did you mean "{guess}"?' if guess else ""
    detail = f"supported values: {listed}{hint}"
    return fielderrors.field_error((name,), fielderrors.NOT_SUPPORTED, detail, value, supported)
