"""Nodes that look alike: what decides a search on a node, apart from names."""

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodepools import NodePools, SearchKey
from dragoman.allocation.pools.usage import Usage


def search_key(found: NodePools, usage: Usage, profile: Profile) -> SearchKey | None:
    """Return what decides a search on a node; None where only the node itself does.

    Names do not decide anything: pools and slices are sorted already, and devices go by position.
    """
    if found.error or profile.features.CompatibilityGroups:
        return None
    key: list[object] = []
    for pool in found.pools:
        if (pool.usable or pool.contents) and not pool.alike:
            return None
        key.append(pool.shape)
        if pool.contents:
            key.append(pool.usage(usage).key)
    if not profile.counters_by_driver and _share_counters(found):
        return None
    return SearchKey(tuple(key))


def _share_counters(found: NodePools) -> bool:
    """Tell whether pools of two drivers share a name, and in 1.36 their counters."""
    names = [pool.id.pool for pool in found.pools if pool.counters]
    return len(names) != len(set(names))
