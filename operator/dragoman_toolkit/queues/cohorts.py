"""What ClusterQueues of a cohort lend each other. Source: Kueue KEP-79."""

from collections.abc import Iterator
from functools import cached_property

from dragoman.model.fields import part, parts
from dragoman_toolkit.queues.amounts import nanos
from dragoman_toolkit.queues.facts import Document, Queues, name_of

Place = tuple[str, str]
"""A flavor and a resource."""


def cohort_of(queue: Document) -> str:
    """Return the cohort of a ClusterQueue; empty for none."""
    spec = part(queue, "spec")
    return str(spec.get("cohortName") or spec.get("cohort") or "")


def flavors(queue: Document) -> Iterator[tuple[Place, Document]]:
    """Yield the quotas of a ClusterQueue or Cohort by flavor and resource."""
    for group in parts(queue, "spec", "resourceGroups"):
        for flavor in parts(group, "flavors"):
            for resource in parts(flavor, "resources"):
                yield (str(flavor.get("name")), str(resource.get("name"))), resource


def reserved(queue: Document) -> dict[Place, int]:
    """Return what a ClusterQueue has reserved, in units of 10^-9."""
    return {
        (str(flavor.get("name")), str(resource.get("name"))): nanos(resource.get("total", 0))
        for flavor in parts(queue, "status", "flavorsReservation")
        for resource in parts(flavor, "resources")
    }


class Cohorts:
    """All cohorts; members of one tree lend each other.

    Args:
        queues: With ClusterQueues and Cohorts.
    """

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    @cached_property
    def _parents(self) -> dict[str, str]:
        found = self._queues.snapshot.of("cohorts.kueue.x-k8s.io")
        return {
            name_of(one): str(
                part(one, "spec").get("parentName") or part(one, "spec").get("parent") or ""
            )
            for one in found
        }

    def _root(self, cohort: str) -> str:
        seen: set[str] = set()
        while self._parents.get(cohort) and cohort not in seen:
            seen.add(cohort)
            cohort = self._parents[cohort]
        return cohort

    @cached_property
    def _members(self) -> dict[str, dict[Place, tuple[int, int]]]:
        """By ClusterQueue and place: what it lends, and what it has taken of all that is lent."""
        found: dict[str, dict[Place, tuple[int, int]]] = {}
        for name, queue in self._queues.cluster_queues.items():
            taken = reserved(queue)
            places = found[name] = {}
            for place, one in flavors(queue):
                nominal = nanos(one.get("nominalQuota", 0))
                limit = one.get("lendingLimit")
                lends = nominal if limit is None else min(nominal, nanos(limit))
                places[place] = lends, max(taken.get(place, 0) - (nominal - lends), 0)
        return found

    @cached_property
    def _left(self) -> dict[tuple[str, Place], int]:
        """By root and place: what is not taken yet."""
        found: dict[tuple[str, Place], int] = {}
        for name, places in self._members.items():
            root = self._root(cohort_of(self._queues.cluster_queues[name]))
            for place, (lends, taken) in places.items():
                found[root, place] = found.get((root, place), 0) + lends - taken
        for cohort in self._queues.snapshot.of("cohorts.kueue.x-k8s.io"):
            for place, one in flavors(cohort):
                key = self._root(name_of(cohort)), place
                found[key] = found.get(key, 0) + nanos(one.get("nominalQuota", 0))
        return found

    def borrowable(self, name: str, flavor: str, resource: str) -> int:
        """Return what a ClusterQueue has borrowed of a flavor, and could still borrow."""
        cohort = cohort_of(self._queues.cluster_queues[name])
        if not cohort:
            return 0
        place = flavor, resource
        lends, taken = self._members[name].get(place, (0, 0))
        left = self._left.get((self._root(cohort), place), 0)
        return max(taken - lends, 0) + max(left - max(lends - taken, 0), 0)
