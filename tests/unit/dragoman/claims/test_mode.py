"""When another claim controller's absence is believed, and by what a claim tells its maker."""

from collections.abc import Callable

import pytest

from dragoman.claims.mode import SEVERAL, Mode, ModeState, made_by_another
from dragoman.claims.naming import claim_name
from dragoman.model.claim import Claim
from tests.unit.dragoman.controllers.claims.builders import claim_of

QUIET = 300.0


def standing(created: int, *, since: float = 0.0) -> ModeState:
    made = ModeState(Mode.ASSIST, since)
    for _ in range(created):
        made = made.made_claim()
    return made


@pytest.mark.parametrize(
    ("created", "now", "mode"),
    [
        (0, 10_000.0, Mode.ASSIST),
        (SEVERAL - 1, 10_000.0, Mode.ASSIST),
        (SEVERAL, QUIET - 0.1, Mode.ASSIST),
        (SEVERAL, QUIET, Mode.OWN),
    ],
    ids=[
        "silence alone proves nothing",
        "a claim or two may be the other's slip",
        "several claims, but not quiet for long enough",
        "several claims and a long silence",
    ],
)
def test_absence_is_believed_after_several_claims_and_a_long_silence(
    created: int, now: float, mode: Mode
) -> None:
    assert standing(created).at(now, takeover_after=QUIET).mode is mode


def test_any_sign_of_another_means_to_assist_and_to_count_anew() -> None:
    own = standing(SEVERAL).at(QUIET, takeover_after=QUIET)
    seen = own.other_seen(400.0)
    assert seen == ModeState(Mode.ASSIST, 400.0)
    assert seen.at(10_000.0, takeover_after=QUIET).mode is Mode.ASSIST


def test_own_stays_own_while_nobody_else_is_seen() -> None:
    own = standing(SEVERAL).at(QUIET, takeover_after=QUIET)
    assert own.at(1e6, takeover_after=QUIET).mode is Mode.OWN


def named(name: str) -> Claim:
    return claim_of("pod", "pod-uid", "a", name=name)


@pytest.mark.parametrize("attempt", [0, 1, 2])
def test_a_claim_with_a_name_of_ours_is_no_sign_of_another(attempt: int) -> None:
    name = claim_name(owner="pod", owner_uid="pod-uid", entry="a", attempt=attempt)
    assert not made_by_another(named(name))


@pytest.mark.parametrize(
    ("claim", "is_sign"),
    [
        (lambda: named("pod-a-7xk2p"), True),
        (lambda: claim_of("pod", "pod-uid", None, name="by-a-user"), False),
        (lambda: claim_of(None, None, "a", name="without-owner"), False),
        (lambda: claim_of("pod", "pod-uid", None, name="made", extended=True), False),
    ],
    ids=[
        "a random name for an entry of a pod",
        "a user's claim that a pod owns",
        "an entry's name, but nobody's claim",
        "the scheduler's claim for an extended resource",
    ],
)
def test_only_claims_generated_for_an_entry_tell_of_another_controller(
    claim: Callable[[], Claim], is_sign: bool
) -> None:
    assert made_by_another(claim()) is is_sign
