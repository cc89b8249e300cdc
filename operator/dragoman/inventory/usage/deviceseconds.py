"""Seconds for which devices were allocated and claims waited: counters that outlive processes.

Prometheus takes a counter that begins again for one that restarted, and adds what it says then. So
a process may neither begin at zero, which loses what came before, nor at the age of the claims that
it finds, which counts their days once more. Each total is therefore kept in a record up to a
moment, and goes on from there with what the claims that live now have added since:

    total(now) = recorded + sum of rate * (now - later of (since, through))

What a claim adds each second changes with it, and between two changes a total is a straight line.
Only claims that ended between the last record and the next leader are missed. As these were part of
the total, the next leader's may begin lower: what is exported is therefore what was recorded, which
no later record falls below.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import orjson

from dragoman.inventory.holders import Holding
from dragoman.inventory.usage.summary import class_of
from dragoman.inventory.usage.waiting import classes_of
from dragoman.model.amounts import amount
from dragoman.model.claim import Claim
from dragoman.model.requests import NO_SPEC
from dragoman.model.timestamps import moment, unix

Key = tuple[str, ...]
"""A kind, and values of its labels."""
LABELS: Mapping[str, tuple[str, ...]] = {
    "devices": ("namespace", "class", "driver"),
    "capacities": ("namespace", "class", "driver", "capacity"),
    "waiting": ("namespace", "class"),
}
"""Kinds of totals, as the record has them, and their labels."""
OTHER = "_other"
"""Stands for namespaces beyond the limit, and for classes that there are not."""
ONE = 10**9
"""Rates are whole numbers, so that what leaves takes exactly what it brought."""
MOST_FOLDED = 10_000
"""Names that are kept of namespaces beyond the limit: clusters may make new ones for each job."""
IDLE = 30 * 86_400.0
"""Seconds after which a total is dropped to which no claim adds anything."""


class RecordError(Exception):
    """A record is not in the form in which it was written; the message says where."""


def rates(claim: Claim, known: Callable[[str], bool], *, waits: bool) -> dict[Key, int]:
    """Return what a claim adds each second, in 10^-9: devices, capacity, or itself while it waits.

    Devices with admin access are not counted, as their claims keep no other claim from them, and
    claims that keep a device out of service are not either.

    Args:
        claim: Any claim, with its content.
        known: Whether there is a DeviceClass of a name; users can write any into a claim.
        waits: Whether a pod waits for it that no scheduling gate holds back.
    """
    namespace = claim.namespace
    if claim.is_hold or claim.spec is NO_SPEC:  # The content of the latter cannot be read.
        return {}
    if claim.held is None:
        names = {one if known(one) else OTHER for one in classes_of(claim) if waits}
        return {("waiting", namespace, name): ONE for name in names}
    found: Counter[Key] = Counter()
    for result in claim.devices:
        labels = (namespace, class_of(Holding(claim, result)), result.driver)
        if result.share and not result.admin:
            for capacity, text in result.consumed or ():
                found["capacities", *labels, capacity] += amount(text).nanos
        elif not result.admin:
            found["devices", *labels] += ONE
    return dict(found)


def since(claim: Claim) -> float:
    """Return when what a claim adds began, as Unix time; 0 where no field of it says so.

    Without DRADeviceBindingConditions the API does not say when a claim was allocated. Its status
    was written then, and perhaps once more.
    """
    if claim.held is None:
        return unix(claim.metadata.created)
    return unix(claim.allocated_at or claim.changed_at or claim.metadata.created)


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept: totals up to a moment."""

    through: float  # The moment, as Unix time
    # Each total, and until when a claim added to it
    totals: Mapping[Key, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self | None:
        """Read the data of the ConfigMap; return None where nothing was written yet.

        Raises:
            RecordError: Something else was.
        """
        if not data:
            return None
        found = moment(str(data.get("through")))
        if found is None:
            raise RecordError(f"through: expected a timestamp, found {data.get('through')!r}")
        through, totals = found.timestamp(), {}
        for kind, labels in LABELS.items():
            for name, value in _object(kind, data.get(kind, "{}")).items():
                number, until = value if isinstance(value, list) and len(value) == 2 else (value, 0)
                key = (kind, *name.split("/", len(labels) - 1))
                if not _is_number(number) or not _is_number(until) or len(key) <= len(labels):
                    raise RecordError(f"{kind}: {name}: expected seconds, found {value!r}")
                totals[key] = (float(number), float(until or through))
        return cls(through, totals)

    def data(self) -> dict[str, str]:
        """Return the data of the ConfigMap."""
        kinds: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for (kind, *labels), (total, until) in sorted(self.totals.items()):
            idle = until < self.through
            kinds[kind]["/".join(labels)] = [total, until] if idle else total
        through = datetime.fromtimestamp(self.through, UTC).isoformat(timespec="milliseconds")
        return {"through": through} | {
            kind: orjson.dumps(values, option=orjson.OPT_INDENT_2).decode()
            for kind, values in kinds.items()
        }


def _object(kind: str, text: Any) -> dict[str, Any]:
    try:
        found = orjson.loads(str(text))
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{kind}: {error}") from error
    if not isinstance(found, dict):
        raise RecordError(f"{kind}: expected an object, found {text!r:.80}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e24


@dataclass(slots=True)
class _Total:
    value: float  # Up to `at`
    at: float  # When it, or its rate, changed last
    rate: int = 0  # What the claims that live now add each second

    def value_at(self, now: float) -> float:
        return self.value + self.rate * (now - self.at) / ONE

    def change(self, by: int, now: float) -> None:
        self.value, self.at = self.value_at(now), now
        self.rate += by


class DeviceSeconds:
    """Totals of a process that leads, from the record of its predecessor on.

    Args:
        record: What was kept; None if nothing ever was.
        now: Unix time; later ones never go back.
        limit: How many totals of namespaces there are at most. Further namespaces are added up as
            `OTHER`, whose totals are as few as there are classes and drivers.
    """

    def __init__(self, record: Record | None, now: float, limit: int) -> None:
        kept = record.totals if record else {}
        self._totals = {key: _Total(value, min(at, now)) for key, (value, at) in kept.items()}
        # A clock may have been ahead when the record was written: what it counted stays.
        self._through = min(record.through, now) if record else None
        self._limit = limit
        self._count()
        self._live: dict[str, dict[Key, int]] = {}
        self._guessed: set[str] = set()
        self.folded: set[str] = set()  # Namespaces that are added up, MOST_FOLDED at most

    def begin(
        self, uid: str, adds: Mapping[Key, int], now: float, began: float, *, said: bool
    ) -> None:
        """Count a claim that lived before this process led.

        Args:
            uid: Of the claim.
            adds: What it adds each second.
            now: As at the start.
            began: Since when, as Unix time; 0 if that is unknown.
            said: Whether the API says so.
        """
        self.change(uid, adds, now)
        # How long pods waited before the first of all records is unknown: gates may have held them.
        waits = any(key[0] == "waiting" for key in adds)
        through = now if self._through is None and waits else self._through or 0.0
        start = min(max(began or now, through), now)
        for key, rate in self._live.get(uid, {}).items():
            self._totals[key].value += rate * (now - start) / ONE
        if adds and not said and start > through:
            self._guessed.add(uid)

    def change(self, uid: str, adds: Mapping[Key, int], now: float) -> None:
        """Count from now on what a claim adds by now; nothing for one that is gone."""
        before = self._live.pop(uid, {})
        for key, rate in before.items():
            self._totals[key].change(-rate, now)
        after: Counter[Key] = Counter()
        for key, rate in adds.items():
            kept = self._key(key)
            after[kept] += rate
            if kept not in self._totals:
                self._totals[kept] = _Total(0.0, now)
                self._named += kept[1] != OTHER
            self._totals[kept].change(rate, now)
        if after:
            self._live[uid] = after
        if before != after:
            self._guessed.discard(uid)

    def _count(self) -> None:
        """Count the totals of namespaces; not at each change, of which there are many."""
        self._named = sum(one[1] != OTHER for one in self._totals)

    def _key(self, key: Key) -> Key:
        """Return under which key is counted; beyond the limit not that of the namespace."""
        kind, namespace, *labels = key
        if key in self._totals or self._named < self._limit:
            return key
        if len(self.folded) < MOST_FOLDED:
            self.folded.add(namespace)
        return (kind, OTHER, *labels)

    @property
    def guessed(self) -> int:
        """Of how many live claims nothing says when they were allocated."""
        return len(self._guessed)

    def record(self, now: float, wall: float) -> Record:
        """Return what is to be kept, and drop what has been idle for long.

        Args:
            now: The time by which this process counts.
            wall: Unix time by the clock of the machine, which may have been set since.
        """
        totals = self._totals.items()
        self._totals = {key: one for key, one in totals if one.rate or now - one.at < IDLE}
        self._count()
        kept = {
            key: (round(one.value_at(now), 3), wall if one.rate else one.at)
            for key, one in self._totals.items()
        }
        return Record(wall, kept)
