"""Which scheduler decides in a cluster, as far as its objects show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dragoman.allocation.features import Profile, profile
from dragoman.inventory.facts.objects import World

_GATE: Final = "DRADeviceTaintRules"
_DEFAULT: Final = "1.36"


def server_profile(
    world: World, version: str = "", gates: Mapping[str, bool] | None = None
) -> Profile:
    """Return how the scheduler of a cluster behaves.

    Args:
        world: Its objects, with the version of the API server.
        version: Of the scheduler; by default that of the API server.
        gates: Feature gates that differ from the defaults of the version.

    Raises:
        ValueError: The version or a gate is unknown.
    """
    chosen = dict(gates or {})
    found = profile(version or world.kubernetes or _DEFAULT, chosen)
    # A server that serves the rules has the gate on; clients cannot read the gate itself.
    if "devicetaintrules" in world.listed and _GATE not in chosen:
        found = replace(found, taint_rules=True)
    return found
