"""A few random runs of preemption with kills; `make test-preemption` plays a thousand."""

from tests.e2e.preemption.races import batch, stage, summary


def test_a_device_is_never_in_two_claims_and_nothing_is_left() -> None:
    with stage() as plane:
        # Faults last seconds where the machine is slow: the five seconds are for the thousand.
        runs = batch(plane, range(1, 2), left_after=60.0)
    assert not [one for one in runs if one.problems]
    found = summary(runs)
    assert found["placed of these"] == found["without thieves"], runs
