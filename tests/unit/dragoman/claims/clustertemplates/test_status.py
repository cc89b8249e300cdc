"""What the status of a ClusterResourceClaimTemplate says."""

from typing import Any

from dragoman.claims.clustertemplates.copies import CopyState
from dragoman.claims.clustertemplates.status import LISTED, status
from tests.unit.dragoman.claims.clustertemplates.builders import cluster_template

NOW, BEFORE = "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"


def report(
    states: dict[str, CopyState], refusals: dict[str, str] | None = None, old: Any = None
) -> tuple[dict[str, Any], dict[str, str]]:
    found = status(cluster_template(status=old), states, refusals or {}, NOW)
    (condition,) = found.pop("conditions")
    return found, condition


def test_every_selected_namespace_has_the_copy() -> None:
    found, ready = report({"a": CopyState.CURRENT, "b": CopyState.NOTHING})
    assert found == {"observedGeneration": 3, "namespaces": 1, "outdated": 0, "conflicts": []}
    assert (ready["status"], ready["reason"]) == ("True", "Distributed")
    assert ready["message"] == "1 namespace has the current copy"


def test_copies_are_under_way() -> None:
    found, ready = report({"a": CopyState.CURRENT, "b": CopyState.MISSING, "c": CopyState.OUTDATED})
    assert (found["namespaces"], found["outdated"]) == (1, 2)
    assert (ready["status"], ready["reason"]) == ("False", "Distributing")


def test_conflicts_are_named_up_to_a_limit() -> None:
    states = {f"n{index:02}": CopyState.CONFLICT for index in range(LISTED + 1)}
    found, ready = report(states)
    assert found["conflicts"] == sorted(states)[:LISTED]
    assert ready["reason"] == "TemplateConflict"
    assert ready["message"].startswith("11 namespaces have a template of this name")
    assert "n09, …; spec.conflict=Replace" in ready["message"]


def test_a_refusal_is_quoted_with_its_namespace_and_comes_before_conflicts() -> None:
    states = {"a": CopyState.CONFLICT, "b": CopyState.MISSING, "c": CopyState.OUTDATED}
    _, ready = report(states, {"c": "quota", "b": "policy", "gone": "old"})
    assert ready["reason"] == "CopyRefused"
    assert ready["message"] == "namespace b: policy; and 1 more namespaces"


def test_an_unchanged_condition_keeps_its_time() -> None:
    old = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}]}
    assert report({"a": CopyState.CURRENT}, old=old)[1]["lastTransitionTime"] == BEFORE
    assert report({"a": CopyState.MISSING}, old=old)[1]["lastTransitionTime"] == NOW
