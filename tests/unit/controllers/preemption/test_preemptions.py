"""What the preemptions of a cluster allow, after their pods and objects were deleted."""

from __future__ import annotations

from typing import Any

from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.kube.resources import Resource
from dragoman.preemption.policy import Policy
from dragoman.preemption.stored import Limits, timestamp
from tests.support.manifests import Json

NOW = 1_800_000_000.0
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")
RULES = Resource("resource.k8s.io", "v1beta2", "devicetaintrules")


class Server:
    """Lists what it has."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Json]] = {"devicetaintrules": [], "devicepreemptions": []}

    async def get(self, path: str, **_: str) -> Json:
        return {"items": self.objects[path.rpartition("/")[2]], "metadata": {}}


def journal(phase: str, evictions: int) -> Json:
    evicted = [
        {"pod": f"p{one}", "owner": "o", "at": timestamp(NOW - 600)} for one in range(evictions)
    ]
    return {
        "metadata": {"namespace": "ns", "name": "uid-train", "uid": "uid-journal"},
        "spec": {"mode": "Preempt", "node": "n", "pod": {"name": "train", "uid": "uid-train"}},
        "status": {"phase": phase, "evictions": evicted},
    }


async def test_deleting_pods_and_objects_does_not_begin_limits_anew() -> None:
    server: Any = Server()
    now = NOW
    carrier = Carrier(
        server, CLAIMS, CLAIMS, RULES, lambda _: Policy(), Limits(), clock=lambda: now
    )
    preemptions = Preemptions(server, carrier, Policy())
    server.objects["devicepreemptions"] = [journal("Placing", 7)]
    await preemptions.refresh()
    server.objects["devicepreemptions"] = []
    for _ in range(2):
        await preemptions.refresh()

        budget = preemptions.budget
        assert (budget.evictions("ns"), budget.evictions("other")) == (7, 0)
        assert budget.attempt("uid-train") == 2
        assert not budget.running
        assert preemptions.allowed().recent == {"o"}

    now += 3600.0
    await preemptions.refresh()
    assert preemptions.budget.attempt("uid-train") == 1
    assert preemptions.budget.evictions() == 0
