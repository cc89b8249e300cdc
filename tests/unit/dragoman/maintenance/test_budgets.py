"""What the Eviction API answers, predicted from PodDisruptionBudgets."""

from typing import Any

import pytest

from dragoman.maintenance.budgets import DisruptionBudget, Protected, predict
from dragoman.model.labels import LabelSelector
from tests.unit.dragoman.maintenance.builders import budget_document


def member(
    name: str = "p", *, ready: bool = True, phase: str = "Running", **more: Any
) -> Protected:
    return Protected("ns", name, {"app": "x"}, phase=phase, ready=ready, **more)


def budget(allowed: int = 0, name: str = "pdb", **status: Any) -> DisruptionBudget:
    document = budget_document(name, allowed, app="x")
    document["status"] |= status
    return DisruptionBudget.parse(document)


@pytest.mark.parametrize(
    ("pod", "of", "refusal"),
    [
        pytest.param(member(), [], "", id="no budget"),
        pytest.param(member(), [budget(1)], "", id="one disruption is allowed"),
        pytest.param(
            member(), [budget(0)], "PodDisruptionBudget pdb allows 0 disruptions now", id="none is"
        ),
        pytest.param(member(phase="Pending"), [budget(0)], "", id="a pending pod is not protected"),
        pytest.param(member(deleting=True), [budget(0)], "", id="nor is one that ends"),
        pytest.param(member(ready=False), [budget(0)], "", id="not ready, and enough others are"),
        pytest.param(
            member(ready=False),
            [budget(0, currentHealthy=0)],
            "PodDisruptionBudget pdb allows 0 disruptions now",
            id="not ready, and too few others are",
        ),
        pytest.param(
            member(),
            [budget(1, observedGeneration=0)],
            "PodDisruptionBudget pdb is not processed yet",
            id="the status is old",
        ),
        pytest.param(
            member(),
            [budget(1), budget(1, "more")],
            "the Eviction API rejects pods with several PodDisruptionBudgets: more, pdb",
            id="two budgets",
        ),
    ],
)
def test_one_pod(pod: Protected, of: list[DisruptionBudget], refusal: str) -> None:
    assert predict([pod], of) == {"ns/p": refusal}


def test_each_eviction_takes_one_disruption() -> None:
    found = predict([member("a"), member("b")], [budget(1)])
    assert found == {"ns/a": "", "ns/b": "PodDisruptionBudget pdb allows only 1 disruption now"}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"matchLabels": {"app": "x"}}, True),
        ({"matchLabels": {"app": "y"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_label_selectors(selector: dict[str, Any], selected: bool) -> None:
    assert LabelSelector.parse(selector, "spec.selector.").matches({"app": "x"}) is selected
