"""A busy watch is read seldom, a quiet one at once."""

from dragoman.kube.http.pacing import (
    FILTERED_INTERVAL,
    FULL_READ,
    INTERVAL,
    SOCKET_BUFFER,
    ReadPacing,
    ReadProgress,
)

EVENT = 2_000


def busy_pacing() -> ReadPacing:
    """Return the pacing of a stream that was read a millisecond ago."""
    pacing = ReadPacing()
    assert pacing.pause_after(0.0, EVENT, ReadProgress.FILTERED) == 0.0
    return pacing


def test_an_event_after_silence_is_read_and_delivered_at_once() -> None:
    pacing = ReadPacing()
    for event in range(10):
        assert pacing.pause_after(event * 1.0, EVENT, ReadProgress.KEPT) == 0.0
        assert pacing.batch_delay == 0.0


def test_filtered_events_in_a_row_are_read_after_the_long_interval() -> None:
    assert busy_pacing().pause_after(0.001, EVENT, ReadProgress.FILTERED) == FILTERED_INTERVAL


def test_a_kept_event_in_a_busy_stream_shortens_the_interval() -> None:
    pacing = busy_pacing()
    assert pacing.pause_after(0.001, EVENT, ReadProgress.KEPT) == INTERVAL
    assert pacing.batch_delay == INTERVAL


def test_a_part_of_a_line_does_not_prolong_the_interval() -> None:
    assert busy_pacing().pause_after(0.001, EVENT, ReadProgress.PARTIAL) == INTERVAL


def test_a_full_read_is_followed_by_another_at_once() -> None:
    assert busy_pacing().pause_after(0.001, FULL_READ, ReadProgress.FILTERED) == 0.0


def test_a_stream_that_would_fill_the_socket_is_read_after_the_short_interval() -> None:
    pacing = busy_pacing()
    assert pacing.pause_after(0.001, FULL_READ, ReadProgress.FILTERED) == 0.0
    assert pacing.pause_after(0.002, SOCKET_BUFFER - FULL_READ, ReadProgress.FILTERED) == INTERVAL
    assert pacing.pause_after(0.003, EVENT, ReadProgress.FILTERED) == FILTERED_INTERVAL
