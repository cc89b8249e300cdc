"""Plans of moves, carried out on the real scheduler in their order: the pod gets its place."""

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.e2e.maintenance.ward import HOSTNAME, Site, Ward
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for

WORLDS = int(os.environ.get("DRAGOMAN_MOVES", "2"))
"""Plans with moves that are carried out."""
SEED = int(os.environ.get("DRAGOMAN_SEED", "1"))
PATIENCE = 60.0
pytestmark = pytest.mark.slow


class World(Ward):
    """Nodes whose free devices lie apart, and a pod for which no node has enough.

    Args:
        site: With an operator that releases claims.
        chance: Of everything random.
    """

    def __init__(self, site: Site, chance: Random) -> None:
        super().__init__(site.plane, nodes=chance.randint(2, 4), devices=chance.randint(3, 5))
        for size in range(1, len(self.names) + 1):
            self.api.create(objects.template(f"t{size}", self.name, self.name, size))
        self.sizes: dict[str, int] = {}
        left = len(self.nodes) * len(self.names)
        while left:
            size = min(chance.choice((1, 1, 2, 2, 3)), left)
            self.sizes[name := f"p{len(self.sizes)}"] = size
            self.create(name)
            left -= size
        placed = [one for one in self.sizes if self.answered(one)]
        for one in self.sizes.keys() - set(chance.sample(placed, len(placed) * 2 // 3)):
            self.end(one)
            del self.sizes[one]

    def create(self, name: str, **more: Any) -> None:
        """Create a pod as a ReplicaSet does; all are as important, so that none preempts."""
        template = f"t{self.sizes[name]}"
        made = objects.pod(
            name, self.name, templates={"gpu": template}, priorityClassName="high", **more
        )
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "uid-r"}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        self.api.create(made)

    def end(self, name: str) -> None:
        """Delete a pod, and wait until its devices are free."""
        self.api.delete("pods", name, self.name, gracePeriodSeconds=0)

        def released() -> bool:
            claims = self.api.list("resourceclaims", self.name)
            left = [one for one in claims if one["metadata"]["name"].startswith(f"{name}-gpu-")]
            return not any(one.get("status", {}).get("allocation") for one in left)

        wait_for(released, PATIENCE, f"the claim of {name} to be released")

    def answered(self, name: str) -> str:
        """Wait for the scheduler's answer; return the node, empty where there is none."""

        def answer() -> Json | None:
            pod = self.api.get("pods", name, self.name)
            return pod if pod["spec"].get("nodeName") or pod["status"].get("conditions") else None

        return str(wait_for(answer, PATIENCE, f"an answer for {name}")["spec"].get("nodeName", ""))

    def cordon(self, node: str, *, cordoned: bool) -> None:
        """Keep pods from a node, or let them come again."""
        self.api.patch("nodes", node, None, {"spec": {"unschedulable": cordoned}})

    def wait(self) -> Json:
        """Let a pod wait for one device more than any node has free; return the plan of moves."""
        used = Counter(dict.fromkeys(self.nodes, 0))
        for name, size in self.sizes.items():
            used[self.answered(name)] += size
        self.sizes["train"] = len(self.names) - min(used.values()) + 1
        if self.sizes["train"] > len(self.names):
            return {"outcome": "NoMoves"}
        self.create("train")
        assert not self.answered("train")
        return dict(self.dra("defrag", "--for", "train", "-o", "json", expected=(0, 1)).document)

    def move(self, number: int, move: Json) -> None:
        """End a pod and create it again, as its controller would, where the plan says."""
        name = f"again-{number}"
        self.sizes[name] = self.sizes[move["name"]]
        assert self.answered(move["name"]) == move["from"]
        self.cordon(move["from"], cordoned=True)
        self.end(move["name"])
        self.create(name, nodeSelector={HOSTNAME: move["to"]})
        got = wait_for(lambda: self.node_of(name), PATIENCE, f"a node for {move}")
        assert got == move["to"]

    def node_of(self, name: str) -> str:
        """Return the node of a pod, empty where it has none."""
        return str(self.api.get("pods", name, self.name)["spec"].get("nodeName") or "")


def test_printed_moves_make_room_on_the_real_scheduler(preempting: Site) -> None:
    counts: Counter[int] = Counter()
    seed = SEED
    while counts.total() - counts[0] < WORLDS:
        world = World(preempting, Random(seed))
        try:
            plan = world.wait()
            moves = plan.get("moves", [])
            for number, move in enumerate(moves):
                world.move(number, move)
            if moves:
                (target,) = plan["targets"]
                world.cordon(moves[0]["from"], cordoned=False)
                got = wait_for(lambda: world.node_of("train"), PATIENCE, f"seed {seed}: {plan}")  # noqa: B023
                assert got == target["node"], f"seed {seed}: {plan}"
            counts[len(moves)] += 1
        finally:
            world.clear_devices()
        seed += 1
        assert seed < SEED + 20 * WORLDS
    print(f"seeds {SEED} to {seed - 1}: {dict(counts)} plans by their moves, all made room")
