"""What a pod needs is read once, however many nodes are looked at."""

from unittest.mock import patch

import pytest

from dragoman.allocation import profile
from dragoman.diagnosis.explain import explain
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.model import nodeselector
from dragoman.model.needs import Needs
from tests.support import manifests as objects
from tests.support.worlds.inventory import pod, snapshot


@pytest.mark.parametrize("nodes", [1, 20])
def test_an_explanation_parses_its_pod_once(nodes: int) -> None:
    required = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    }
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    manifests = [objects.node(f"n{index}") for index in range(nodes)]
    with (
        patch.object(Needs, "parse", side_effect=Needs.parse) as needs,
        patch.object(
            nodeselector, "_requirements", side_effect=nodeselector._requirements
        ) as terms,
    ):
        world = parse(snapshot(*manifests, pod(affinity=affinity)))
        found = take(world, profile("1.36"))
        (waiting,) = world.pods.values()
        answer = explain(found, of_pod(world, waiting))
    assert len(answer.nodes) == nodes
    assert (needs.call_count, terms.call_count) == (1, 2)  # matchExpressions and matchFields
