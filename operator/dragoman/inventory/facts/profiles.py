"""Which scheduler decides in a cluster, as far as its objects show it."""

from collections.abc import Mapping
from dataclasses import replace

from dragoman.allocation.features import Profile, profile
from dragoman.inventory.facts.world import World
from dragoman_base.versions import DEFAULT, name

_GATE = "DRADeviceTaintRules"


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
    found = profile(version or world.kubernetes or name(DEFAULT), chosen)
    rules = "devicetaintrules" in world.listed and _GATE not in chosen
    return _with_rules(found) if rules else found


def observed_profile(kubernetes: str, *, rules: bool = False) -> tuple[Profile, str]:
    """Return how the scheduler beside an API server behaves, with the default gates.

    Args:
        kubernetes: The server's version; the default for one that is unknown.
        rules: Whether the server serves DeviceTaintRules.

    Returns:
        The profile, and why it is that of the default version; empty where it is not.
    """
    try:
        found, problem = profile(kubernetes), ""
    except ValueError as error:
        found, problem = profile(), str(error)
    return (_with_rules(found) if rules else found), problem


def _with_rules(found: Profile) -> Profile:
    # A server that serves the rules has the gate on; clients cannot read the gate itself.
    return replace(found, taint_rules=True)
