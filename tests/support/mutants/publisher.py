"""The publisher with one fault of `table.MUTANTS`."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dragoman_drivers.pretend.faults import Faults
from dragoman_drivers.pretend.publisher import RESOURCE, Publisher, same
from dragoman_drivers.pretend.slices import Manifest, PretendPool
from dragoman_drivers.throwaway.api import ApiError

REWRITES = 25
"""Writes of each slice at the exit."""


class MutantPublisher(Publisher):
    """Publishes as the driver's faults say; without any it is the publisher itself.

    Attributes:
        faults: Returns the driver's faults.
    """

    faults: Callable[[], Faults] = Faults

    def step(self) -> None:
        """Bring the API server's slices to what is to be published, once."""
        try:
            super().step()
        except ApiError as error:
            if error.code == 409 and "exit-on-conflict" in self.faults():
                os._exit(4)
            raise

    def settle(self, pool: PretendPool, there: Sequence[Mapping[str, Any]]) -> None:
        """Bring the slices of one pool to what is to be published."""
        faults, before = self.faults(), self.settled.get((pool.node, pool.title))
        if before and before[0] == pool:
            names = {one["metadata"]["name"] for one in there}
            if "once" in faults and before[2].keys() - names:
                return
            if "never-repairs" in faults and names == before[2].keys():
                return
            wanted = self.render(pool, before[1], self.owner(pool.node))
            if "fights-drops" in faults and not same(wanted, there):
                self.forget()
        super().settle(pool, there)
        if "rewrites" in faults:
            self.write_again()

    def write_again(self) -> None:
        """Write the slices that are there a number of times, each time with another annotation."""
        for pool, generation, _ in list(self.settled.values()):
            for manifest in self.render(pool, generation, self.owner(pool.node)):
                self._touch(manifest)

    def _touch(self, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        for at in range(REWRITES):
            found = self.api.find(RESOURCE, name)
            if found:
                meta = {**found["metadata"], "annotations": {"dragoman.dev/touched": str(at)}}
                self.api.update({**found, "metadata": meta})
