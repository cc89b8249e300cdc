"""The environment of device selectors: variables, types, and the sizes that estimates assume."""

from functools import cache

from dragoman_base.versions import OLDEST, Release, Version
from dragoman_cel import types
from dragoman_cel.check.declarations import parse_overload
from dragoman_cel.environment import Environment
from dragoman_cel.estimate import Path
from dragoman_cel.types import Type

_TYPE = "kubernetes.DRADevice"
_ENTRIES = 32
_DOMAIN = 63
_ID = 32
_DRIVER = 63
_VALUE = 64
_INCLUDES = "1.36 member {}_includes_dyn_dyn includes(dyn, dyn) -> bool"


@cache
def environment(
    version: Version,
    list_attributes: bool,  # noqa: FBT001 — a cache key, called by position
    includes: bool,  # noqa: FBT001 — a cache key, called by position
    consumable_capacity: bool,  # noqa: FBT001 — a cache key, called by position
    release: Release,
) -> Environment:
    """Return the environment of selectors.

    Args:
        version: The Kubernetes version of the libraries, such as (1, 36).
        list_attributes: Whether attributes can be lists, so that their type is dyn.
        includes: Whether the function `includes` exists.
        consumable_capacity: Feature gate DRAConsumableCapacity.
        release: What evaluates, which may be newer than the libraries.
    """
    attribute = types.DYN if list_attributes else types.ANY
    fields: dict[str, Type] = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if consumable_capacity and version >= OLDEST:
        fields["allowMultipleAllocations"] = types.BOOL
    extra = {}
    if includes:
        origin = "list" if release.includes_traversed else "dra"
        _, _, function, overload = parse_overload(_INCLUDES.format(origin))
        extra[function] = (overload,)
    return Environment(
        version,
        variables={"device": types.struct(_TYPE)},
        structs={_TYPE: fields},
        size_of_path=_size_of_path,
        bind=True,
        extra=extra,
        newer=release,
    )


def _size_of_path(path: Path) -> int | None:
    """Return the declared maximum size of a part of `device`."""
    match path:
        case ("device",):
            return 0
        case ("device", "driver"):
            return _DRIVER
        case ("device", "allowMultipleAllocations"):
            return 1
        case ("device", "attributes" | "capacity"):
            return _ENTRIES
        case ("device", "attributes" | "capacity", "@keys"):
            return _DOMAIN
        case ("device", "attributes" | "capacity", "@items" | "@values"):
            return _ENTRIES
        case ("device", "attributes" | "capacity", "@items" | "@values", "@keys"):
            return _ID
        # A name below an attribute map is an attribute; a capacity has a size only by index.
        case ("device", "attributes", "@items" | "@values", _):
            return _VALUE
        case ("device", "capacity", "@items" | "@values", "@items" | "@values"):
            return 0
    return None
