"""The shared counters of partitionable devices during a search (KEP-4815)."""

from dragoman.allocation.features import Profile
from dragoman.allocation.requests.plans import Plan
from dragoman.allocation.search.view import NodeView

Key = tuple[str, str]
"""Counter set and counter."""


class Counters:
    """What is left of the counters of all pools, and what the picked devices take of them."""

    def __init__(self, view: NodeView, profile: Profile) -> None:
        self._view = view
        self._profile = profile
        self._available: dict[object, dict[Key, int]] = {}
        self._charged: dict[object, dict[Key, int]] = {}
        self._overdrawn: dict[object, bool] = {}

    def charge(self, position: int, plan: Plan) -> bool:
        """Take the counters of a device; answer False, and take nothing, if they do not suffice."""
        table = self.touch(position)
        available, charged = self._available[table], self._charged[table]
        for key, need in plan.needs.items():
            charged[key] = charged.get(key, 0) + need
        # All counters of the pool count: one that is overdrawn stops every device. Without one,
        # only those that the device takes from can have become too small.
        looked_at = available if self._overdrawn[table] else plan.needs.keys() & available.keys()
        if all(available[key] >= charged.get(key, 0) for key in looked_at):
            return True
        self.refund(position, plan)
        return False

    def refund(self, position: int, plan: Plan) -> None:
        """Give the counters of a device back."""
        charged = self._charged[self.touch(position)]
        for key, need in plan.needs.items():
            charged[key] -= need

    def touch(self, position: int) -> object:
        """Return the table in which the counters of a device's pool are kept.

        1.36 keeps them by pool name: two drivers with pools of one name share the table of the
        pool that is looked at first (kubernetes/kubernetes#140434).
        """
        pool = self._view.pool(position)
        table: object = pool.id if self._profile.counters_by_driver else pool.id.pool
        if table not in self._available:
            available = pool.usage(self._view.usage).available
            # Overdrawn counters come first, so that a device that they stop costs one look.
            by_rest = sorted(available.items(), key=lambda item: item[1])
            self._available[table] = dict(by_rest)
            self._charged[table] = {}
            self._overdrawn[table] = bool(by_rest) and by_rest[0][1] < 0
        return table
