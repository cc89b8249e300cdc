"""The condition of rules: when it is written, and its words, which are those in-tree."""

from typing import Any

import pytest

from dragoman.evictions.conditions import EvictionCounts, plan_rule_status
from dragoman.evictions.preview import EvictionPreview
from dragoman.inventory.facts.stored import StoredRule
from tests.unit.dragoman.evictions.builders import T0, a_rule, at, facts, pair


def written(
    rule: StoredRule, found: EvictionCounts | EvictionPreview, now: float = T0
) -> tuple[Any, ...] | None:
    planned = plan_rule_status(rule, found, now)
    if planned is None:
        return None
    progress = planned.progress
    return progress.status, progress.reason, progress.message


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (
            EvictionCounts(1, 1),
            ("True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace."),
        ),
        (
            EvictionCounts(3, 2, 1),
            (
                "True",
                "PodsPendingEviction",
                (
                    "3 pods need to be evicted in 2 different namespaces. "
                    "1 pod evicted since starting the controller."
                ),
            ),
        ),
        (
            EvictionCounts(evicted=4),
            ("False", "Completed", "4 pods evicted since starting the controller."),
        ),
        (EvictionCounts(), ("False", "NotStarted", "")),
    ],
)
def test_a_rule_that_evicts(counts: EvictionCounts, expected: tuple[str, str, str]) -> None:
    assert written(a_rule(), counts) == expected


@pytest.mark.parametrize("effect", ["NoSchedule", "FutureEffect"])
def test_a_rule_with_another_effect(effect: str) -> None:
    message = "Eviction only happens for the NoExecute effect."
    assert written(a_rule(effect=effect), EvictionCounts()) == ("False", "OtherEffect", message)


END = (
    " if the effect was NoExecute. This information will not be updated again. "
    "Recreate the DeviceTaintRule to trigger an update."
)
PODS = tuple(facts(*pair("a"), *pair("b", namespace="other")).pods)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            EvictionPreview(1, 1, PODS[:1]),
            (
                "1 published device selected. 1 allocated device selected. "
                "1 pod would be evicted in 1 namespace"
            ),
        ),
        (
            EvictionPreview(3, 2, PODS),
            (
                "3 published devices selected. 2 allocated devices selected. "
                "2 pods would be evicted in 2 different namespaces"
            ),
        ),
        (
            EvictionPreview(0, 0, ()),
            (
                "0 published devices selected. 0 allocated devices selected. "
                "0 pods would be evicted in 0 different namespaces"
            ),
        ),
    ],
)
def test_a_dry_run(found: EvictionPreview, message: str) -> None:
    assert written(a_rule(effect="None"), found) == ("False", "NoEffect", message + END)


def stored(reason: str, after: float = 0.0, generation: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "status": "True" if reason == "PodsPendingEviction" else "False",
        "reason": reason,
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": at(after),
        **more,
    }


def test_a_dry_run_is_not_repeated_for_the_same_spec() -> None:
    rule = a_rule(effect="None", condition=stored("NoEffect", message="old"))
    assert plan_rule_status(rule, EvictionPreview(9, 9, ()), T0 + 60) is None
    changed = a_rule(effect="None", generation=2, condition=stored("NoEffect"))
    assert plan_rule_status(changed, EvictionPreview(9, 9, ()), T0) is not None


def test_a_condition_is_written_at_most_every_ten_seconds() -> None:
    rule = a_rule(condition=stored("PodsPendingEviction"))
    for now, after in ((T0 + 4, 6.0), (T0 + 10, 0.0), (T0 - 3600, 0.0)):
        planned = plan_rule_status(rule, EvictionCounts(evicted=1), now)
        assert planned is not None
        assert planned.after == after


def test_a_new_spec_is_reported_at_once() -> None:
    rule = a_rule(generation=2, condition=stored("NotStarted"))
    planned = plan_rule_status(rule, EvictionCounts(1, 1), T0 + 1)
    assert planned is not None
    assert planned.after == 0.0
    assert planned.progress.observed_generation == 2


def test_a_condition_that_is_right_is_not_written() -> None:
    assert (
        plan_rule_status(a_rule(condition=stored("NotStarted")), EvictionCounts(), T0 + 60) is None
    )


def test_a_restart_does_not_take_completed_back() -> None:
    kept = stored("Completed", message="3 pods evicted since starting the controller.")
    assert plan_rule_status(a_rule(condition=kept), EvictionCounts(), T0 + 60) is None
    assert written(a_rule(generation=2, condition=kept), EvictionCounts()) == (
        "False",
        "NotStarted",
        "",
    )
    pending = a_rule(condition=stored("PodsPendingEviction"))
    assert written(pending, EvictionCounts(), T0 + 60) == ("False", "Completed", "")
