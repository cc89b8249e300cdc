"""The status of a DriverConfigSchema: its conditions and each config's errors.

Pure: the time is an argument, and an unchanged condition keeps its transition time, so that an
unchanged status needs no write.
"""

from collections.abc import Mapping
from typing import Any

from dragoman_configs.compile.registry import RegisteredSchema, Registry
from dragoman_configs.fielderrors import ConfigFieldError, clip
from dragoman_configs.objects.driverconfigschema import OFF
from dragoman_configs.review.verdict import MAX_LISTED

READY, CONFLICTING = "Ready", "Conflicting"

COMPILED = "Compiled"
"""Reason of Ready=True: the newest generation is active."""

SWITCHED_OFF = "SwitchedOff"
"""Reason of Ready=True: the newest generation compiles, and its mode is Off."""

NOT_COMPILED = "NotCompiled"
"""Reason of Ready=False: it does not compile and the object has no active schema."""

LAST_GOOD = "LastGoodGeneration"
"""Reason of Ready=False: it does not compile, an earlier generation stays active."""

DECIDED_ELSEWHERE = "DecidedByOlderObject"
"""Reason of Conflicting=True: an older object lists the same kinds."""

NO_CONFLICT = "NoConflict"
"""Reason of Conflicting=False."""

MAX_ERROR = 2048
"""Characters of one error in `status.configs`."""


def status(registry: Registry, name: str, old: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Make the status of a registered object, without `audit`.

    Args:
        registry: Holds the object.
        name: Its name.
        old: Its present status; unchanged conditions keep their transition times.
        now: The time as RFC 3339, for conditions that change.
    """
    registered = registry.objects[name]
    compilation = registered.compilation
    configs = [
        {
            "apiVersion": config.api_version,
            "kind": config.kind,
            "compiled": index not in compilation.errors_by_config,
            "errors": [_text(error) for error in compilation.errors_by_config.get(index, ())][
                :MAX_LISTED
            ],
        }
        for index, config in enumerate(registered.parsed.configs)
    ]
    ready = sum(bool(config["compiled"]) for config in configs)
    conditions = [_ready(registered), _conflicting(registry, name)]
    generation = registered.parsed.generation
    return {
        "observedGeneration": generation,
        "configsReady": f"{ready}/{len(configs)}",
        "conditions": [_timed(one, generation, old, now) for one in conditions],
        "configs": configs,
    }


def _ready(registered: RegisteredSchema) -> dict[str, str]:
    errors = registered.compilation.errors
    if not errors:
        off = registered.parsed.mode == OFF
        generation = registered.parsed.generation
        message = f"generation {generation} is active"
        if off:
            message = f"generation {generation} compiles; mode Off takes it out of every review"
        return _condition(READY, "True", SWITCHED_OFF if off else COMPILED, message)
    message = "; ".join(_text(error) for error in errors[:MAX_LISTED])
    if len(errors) > MAX_LISTED:
        message += f"; and {len(errors) - MAX_LISTED} more"
    if registered.active is None:
        return _condition(READY, "False", NOT_COMPILED, message)
    kept = f"generation {registered.active.generation} stays active: "
    return _condition(READY, "False", LAST_GOOD, kept + message)


def _conflicting(registry: Registry, name: str) -> dict[str, str]:
    conflicts = registry.conflicts(name)
    if not conflicts:
        return _condition(CONFLICTING, "False", NO_CONFLICT, "no older object lists its kinds")
    texts = [f"{conflict.title} is decided by {conflict.winner}" for conflict in conflicts]
    return _condition(CONFLICTING, "True", DECIDED_ELSEWHERE, "; ".join(texts))


def _condition(kind: str, value: str, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": value, "reason": reason, "message": clip(message, 32768)}


def _timed(
    condition: dict[str, str], generation: int, old: Mapping[str, Any], now: str
) -> dict[str, Any]:
    known = old.get("conditions")
    for before in known if isinstance(known, list) else []:
        same = ("type", "status")
        if isinstance(before, dict) and all(before.get(key) == condition[key] for key in same):
            now = str(before.get("lastTransitionTime") or now)
    return {**condition, "observedGeneration": generation, "lastTransitionTime": now}


def _text(error: ConfigFieldError) -> str:
    # The schema is the admin's own object, so its values may be shown, and often help most.
    return clip(str(error), MAX_ERROR)
