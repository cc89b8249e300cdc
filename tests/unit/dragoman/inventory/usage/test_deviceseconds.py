"""Device-seconds survive leaders: nothing is counted twice, and next to nothing is missed."""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from dragoman.inventory.usage.deviceseconds import (
    IDLE,
    ONE,
    OTHER,
    DeviceSeconds,
    Key,
    Record,
    RecordError,
    rates,
    since,
)
from dragoman.model.claimcontent import parse_claim
from tests.support.worlds.inventory import claim, held

DAY = 86_400.0
BEGAN = 1_760_000_000.0
PERIOD, LEASE = 60.0, 15.0
GPUS: Key = ("devices", "ml", "gpu", "gpu.example.com")


def counted(document: Any, *, known: bool = True, waits: bool = False) -> dict[Key, float]:
    document["metadata"].setdefault("uid", "u")
    found = rates(parse_claim(document), lambda _: known, waits=waits)
    return {key: rate / ONE for key, rate in found.items()}


def values(usage: DeviceSeconds, now: float) -> dict[Key, float]:
    return {key: value for key, (value, _) in usage.record(now, now).totals.items()}


@dataclass(frozen=True)
class Life:
    """A claim from its allocation to its end."""

    uid: str
    adds: dict[Key, int]
    began: float
    ended: float


def lives(chance: random.Random, days: int) -> Iterator[Life]:
    """Yield 200 claims a day of five namespaces, most for hours, some for days."""
    for number in range(200 * days):
        began = BEGAN + chance.uniform(0, days * DAY)
        lasts = min(chance.lognormvariate(9, 1.2), 6 * DAY)
        namespace = f"team-{chance.randrange(5)}"
        adds: dict[Key, int] = {
            ("devices", namespace, "gpu", "gpu.example.com"): ONE * chance.choice((1, 1, 2, 8))
        }
        if not number % 10:
            adds = {("waiting", namespace, "gpu"): ONE}
        yield Life(str(number), adds, began, min(began + lasts, BEGAN + days * DAY))


class Month:
    """Leaders that come and go while claims live; what Prometheus scrapes meanwhile.

    Attributes:
        scraped: Values by key, hour after hour; none while nobody leads.
    """

    def __init__(self, chance: random.Random, days: int = 30) -> None:
        self.days, self.end = days, BEGAN + days * DAY
        self.lives = sorted(lives(chance, days), key=lambda one: one.began)
        self.scraped: list[dict[Key, float]] = []
        self._kept: dict[str, str] = {}
        changes = sorted(chance.sample(range(1, days * 24), 51))
        # Ten leaders are killed; after the last change nobody leads for an hour.
        self._killed = set(chance.sample(changes[:-1], 10))
        self._changes = [BEGAN + hour * 3600.0 + chance.uniform(0, 3600.0) for hour in changes]
        self._hours = dict(zip(self._changes, changes, strict=True))

    def ahead(self, now: float) -> float:
        """How far the clock of a leader is ahead: it is set back by 30 s on the tenth day."""
        return 30.0 if 9 * DAY < now - BEGAN < 10 * DAY else 0.0

    def run(self) -> None:
        start = BEGAN
        for end in [*self._changes, self.end]:
            killed = self._hours.get(end) in self._killed
            start = self._lead(start, end, killed=killed)
            if end == self._changes[-1]:
                start = end + 3600.0

    def _lead(self, start: float, end: float, *, killed: bool) -> float:
        """Let a process lead; return when the next one can."""
        now = start + self.ahead(start)
        leader = DeviceSeconds(Record.parse(self._kept), now, 2_000)
        for one in self.lives:
            if one.began <= start < one.ended:
                # The API has whole seconds.
                leader.begin(one.uid, one.adds, now, float(int(one.began)), said=True)
        last = start + (end - start) // PERIOD * PERIOD if killed else end
        for at, what in self._events(start, end, last):
            shown = now + at - start
            if isinstance(what, Life):
                leader.change(what.uid, what.adds if at == what.began else {}, shown)
            elif what == "scrape":
                self.scraped.append(values(leader, shown))
            else:
                self._kept = leader.record(shown, at + self.ahead(at)).data()
        return end + LEASE if killed else end

    def _events(self, start: float, end: float, last: float) -> list[tuple[float, Any]]:
        found: list[tuple[float, Any]] = [(last, "keep")]
        for one in self.lives:
            found += [(at, one) for at in (one.began, one.ended) if start < at <= end]
        hours = range(int((start - BEGAN) // 3600) + 1, int((end - BEGAN) // 3600) + 1)
        # What is exported is what was kept last.
        kept = ((BEGAN + hour * 3600.0 - start) // PERIOD * PERIOD + start for hour in hours)
        found += [(at, "scrape") for at in kept]
        return sorted(found, key=lambda one: one[0])

    def truth(self) -> dict[Key, float]:
        found: defaultdict[Key, float] = defaultdict(float)
        for one in self.lives:
            for key, rate in one.adds.items():
                found[key] += rate / ONE * (one.ended - one.began)
        return found


def increase(values: list[float]) -> float:
    """Return what Prometheus makes of the samples of a counter: what is less began at zero."""
    return sum(new - old if new >= old else new for old, new in pairwise(values))


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 7))]
)
def test_a_month_of_leader_changes_neither_loses_nor_doubles(seed: int) -> None:
    month = Month(random.Random(seed))
    month.run()
    truth, last = month.truth(), month.scraped[-1]
    assert truth.keys() == last.keys()
    assert len(truth) == 10
    assert sum(last.values()) == pytest.approx(sum(truth.values()), rel=0.001)
    for key, value in truth.items():
        assert last[key] == pytest.approx(value, rel=0.005), key
        samples = [one.get(key, 0.0) for one in month.scraped]
        assert increase(samples) == pytest.approx(value, rel=0.005)
    # More than all devices in use at all times is impossible in any day.
    most = sum(rate / ONE for one in month.lives for rate in one.adds.values())
    for key in truth:
        for day in range(month.days - 1):
            samples = [one.get(key, 0.0) for one in month.scraped[day * 24 : day * 24 + 25]]
            assert increase(samples) <= min(most, peak(month.lives, key)) * DAY * 1.001


def peak(all_lives: list[Life], key: Key) -> float:
    """Return the most that claims held at one time."""
    changes = sorted(
        (at, sign * one.adds[key] / ONE)
        for one in all_lives
        if key in one.adds
        for at, sign in ((one.began, 1), (one.ended, -1))
    )
    level = highest = 0.0
    for _, change in changes:
        level += change
        highest = max(highest, level)
    return highest


def test_the_first_of_all_leaders_counts_from_the_allocations_on() -> None:
    usage = DeviceSeconds(None, BEGAN, 10)
    usage.begin("a", {GPUS: 2 * ONE}, BEGAN, BEGAN - 100, said=True)
    # Gates may have held the pod back all that time.
    usage.begin("b", {("waiting", "ml", "gpu"): ONE}, BEGAN, BEGAN - 100, said=True)
    assert values(usage, BEGAN + 5) == {GPUS: 210, ("waiting", "ml", "gpu"): 5}


def test_times_that_the_api_does_not_say_are_counted_as_guesses_until_the_claim_ends() -> None:
    usage = DeviceSeconds(None, BEGAN, 10)
    usage.begin("a", {GPUS: ONE}, BEGAN, 0, said=False)
    assert (usage.guessed, values(usage, BEGAN + 1)) == (1, {GPUS: 1})
    usage.change("a", {}, BEGAN + 2)
    assert usage.guessed == 0
    later = DeviceSeconds(Record(BEGAN, {GPUS: (7, BEGAN)}), BEGAN + 10, 10)
    later.begin("b", {GPUS: ONE}, BEGAN + 10, BEGAN - 50, said=False)
    assert (later.guessed, values(later, BEGAN + 10)) == (0, {GPUS: 17})


def test_a_record_of_the_future_adds_nothing_and_takes_nothing() -> None:
    usage = DeviceSeconds(Record(BEGAN + 500, {GPUS: (7, BEGAN + 500)}), BEGAN, 10)
    usage.begin("a", {GPUS: ONE}, BEGAN, BEGAN - 900, said=True)
    assert values(usage, BEGAN + 3) == {GPUS: 10}


def test_totals_leave_after_thirty_days_without_claims() -> None:
    usage = DeviceSeconds(None, BEGAN, 10)
    usage.change("a", {GPUS: ONE}, BEGAN)
    usage.change("a", {}, BEGAN + 60)
    kept = usage.record(BEGAN + 100, BEGAN + 100)
    assert kept == Record(BEGAN + 100, {GPUS: (60, BEGAN + 60)})
    again = DeviceSeconds(Record.parse(kept.data()), BEGAN + IDLE, 10)
    assert again.record(BEGAN + IDLE, BEGAN + IDLE).totals == {GPUS: (60, BEGAN + 60)}
    assert again.record(BEGAN + 60 + IDLE, BEGAN + 60 + IDLE).totals == {}


def test_namespaces_beyond_the_limit_are_added_up_and_named() -> None:
    usage = DeviceSeconds(None, BEGAN, 2_000)
    for number in range(2_003):
        adds: dict[Key, int] = {("devices", f"ns-{number:04}", "gpu", "d"): ONE}
        usage.change(str(number), adds, BEGAN)
    found = values(usage, BEGAN + 1)
    assert len(found) == 2_001
    assert found["devices", OTHER, "gpu", "d"] == 3
    assert usage.folded == {"ns-2000", "ns-2001", "ns-2002"}
    usage.change("2001", {}, BEGAN + 1)
    assert values(usage, BEGAN + 2)["devices", OTHER, "gpu", "d"] == 5
    assert sum(map(len, usage.record(BEGAN + 2, BEGAN + 2).data().values())) < 200 * 1024


def test_what_claims_add() -> None:
    two = held(claim("a", "ml", 2), ("n", "g0"), ("n", "g1"))
    assert counted(two) == {GPUS: 2}
    admin = held(claim("a", "ml", adminAccess=True), ("n", "g0"), adminAccess=True)
    assert counted(admin) == {}
    share = held(
        claim("a", "ml"), ("n", "g0"), shareID="s", consumedCapacity={"memory": "10Gi", "x": "500m"}
    )
    assert counted(share) == {
        ("capacities", "ml", "gpu", "gpu.example.com", "memory"): 10 * 2**30,
        ("capacities", "ml", "gpu", "gpu.example.com", "x"): 0.5,
    }
    assert counted(held(claim("dragoman-hold-x", "ml"), ("n", "g0"))) == {}
    assert counted(claim("a", "ml")) == {}
    assert counted(claim("a", "ml"), waits=True) == {("waiting", "ml", "gpu"): 1}
    # Users can write any name into a claim: each would be a series.
    assert counted(claim("a", "ml"), waits=True, known=False) == {("waiting", "ml", OTHER): 1}


def test_a_claim_of_an_old_server_began_when_its_status_was_written() -> None:
    made = held(claim("a", "ml"), ("n", "g0"))
    made["metadata"] |= {"uid": "u", "creationTimestamp": "2026-11-22T11:00:00Z"}
    assert since(parse_claim(made)) == 1_795_345_200
    written = {"subresource": "status", "time": "2026-11-22T11:00:05Z"}
    made["metadata"]["managedFields"] = [{"time": "2026-11-22T12:00:00Z"}, written]
    assert since(parse_claim(made)) == 1_795_345_205
    made["status"]["allocation"]["allocationTimestamp"] = "2026-11-22T11:00:04Z"
    assert since(parse_claim(made)) == 1_795_345_204


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"through": "yesterday"}, "through: expected a timestamp, found 'yesterday'"),
        ({"through": "2026-11-22T12:00:00Z", "devices": "[]"}, "devices: expected an object"),
        ({"through": "2026-11-22T12:00:00Z", "devices": "{"}, "devices: "),
        ({"through": "2026-11-22T12:00:00Z", "devices": '{"a/b": 1}'}, "devices: a/b: expected"),
        ({"through": "2026-11-22T12:00:00Z", "devices": '{"a/b/c": -1}'}, "expected seconds"),
        ({"through": "2026-11-22T12:00:00Z", "waiting": '{"a/b": true}'}, "found True"),
    ],
)
def test_a_record_that_somebody_edited_is_refused_by_its_place(
    data: dict[str, str], said: str
) -> None:
    with pytest.raises(RecordError) as refusal:
        Record.parse(data)
    assert said in str(refusal.value)


def test_a_record_is_read_as_it_was_written() -> None:
    totals = {
        GPUS: (1.5, BEGAN),
        ("capacities", "ml", "gpu", "d", "example.com/memory"): (2.0**60, BEGAN - 7),
        ("waiting", "ml", ""): (0.25, BEGAN),
    }
    assert Record.parse(Record(BEGAN, totals).data()) == Record(BEGAN, totals)
    assert Record.parse({}) is None
