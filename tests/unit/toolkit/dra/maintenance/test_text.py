"""What `hold` and `drain` say while they run and when they end."""

import pytest

from dragoman.controllers.maintenance.drainer import DrainStep, News
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import HoldKind
from dragoman.maintenance.plan import MaintenancePlan, plan
from dragoman.model import claimcontent
from dragoman_toolkit.dra.maintenance import text
from tests.support.worlds.inventory import claim, held
from tests.unit.dragoman.maintenance.builders import A, facts, held_claim, rule, running, user

WISH = str(A)
USED = plan(facts(user("x"), pods=[running("x")], holds=[rule()]))
IDLE = plan(facts(holds=[rule()]))
WAITS = plan(facts(user("x"), kind=HoldKind.CLAIM, holds=[held_claim(allocated=False)]))


@pytest.mark.parametrize(
    ("news", "evict", "said"),
    [
        (
            News(DrainStep.CREATED, "devicetaintrule.resource.k8s.io/r"),
            EvictionMode.NEVER,
            "devicetaintrule.resource.k8s.io/r created (NoSchedule)",
        ),
        (
            News(DrainStep.CREATED, "resourceclaim.resource.k8s.io/c"),
            EvictionMode.NEVER,
            "resourceclaim.resource.k8s.io/c created",
        ),
        (News(DrainStep.EXISTED, "r"), EvictionMode.NEVER, "r exists already"),
        (
            News(DrainStep.REFUSED, "ml/x", "The disruption budget b needs 1."),
            EvictionMode.WHEN_ALLOWED,
            "ml/x: The disruption budget b needs 1; trying again",
        ),
        (
            News(DrainStep.EVICTED, "ml/x", "", 41.2),
            EvictionMode.WHEN_ALLOWED,
            "ml/x: evicted after 41s",
        ),
        (News(DrainStep.EVICTED, "ml/x", "", 0.2), EvictionMode.NOW, "ml/x: deleted"),
        (
            News(DrainStep.ENDED, "ml/x", "", 71.0),
            EvictionMode.WHEN_ALLOWED,
            "ml/x: ended after 71s",
        ),
        (
            News(DrainStep.TOLERATES, "ml/x"),
            EvictionMode.WHEN_ALLOWED,
            "claim ml/x tolerates the taint: its pods stay",
        ),
    ],
)
def test_each_step_has_a_line(news: News, evict: EvictionMode, said: str) -> None:
    assert text.line(news, evict) == said


def closing(found: MaintenancePlan | None, ended: str = "", *, done: bool = False) -> list[str]:
    return [*text.closing(found, ended, done=done, command="drain", wish=WISH)]


def test_the_end_says_how_to_go_back() -> None:
    assert closing(IDLE, done=True) == [f"{WISH} is idle.   Back: kubectl dra undrain {WISH}"]


def test_an_interruption_says_what_is_so_and_how_to_continue() -> None:
    assert closing(USED, "Interrupted") == [
        "Interrupted: 1 device in use, pods: ns/x.",
        "New claims cannot get the devices; they stay out of service.",
        f"Continue: kubectl dra drain {WISH}",
        f"Back: kubectl dra undrain {WISH}",
    ]
    assert closing(None, "Interrupted") == ["Interrupted before anything was written."]


def test_a_device_that_is_not_held_yet_is_named() -> None:
    assert f"New claims can still get {A}." in closing(WAITS, "Timeout after 10m")


def test_a_claim_that_no_pod_uses_is_named_with_the_remedy() -> None:
    unused = claimcontent.parse_claim(held(claim("old"), ("n", "a")))
    said = closing(plan(facts(unused, holds=[rule()])), "Timeout after 10m")
    assert "No pod uses claim ns/old: delete it to free the device." in said


def test_programs_get_the_last_state_of_each_pod() -> None:
    news = [
        News(DrainStep.REFUSED, "ml/x", "no", 1.0),
        News(DrainStep.EVICTED, "ml/x", "", 2.04),
        News(DrainStep.CREATED, "r"),
    ]
    assert text.pods(news) == [{"pod": "ml/x", "state": "evicted", "message": "", "seconds": 2.0}]
    assert text.remaining(USED) == ["ns/x"]
    (device,) = text.devices(USED, [A])
    assert (device["held"], device["idle"]) == (True, False)
