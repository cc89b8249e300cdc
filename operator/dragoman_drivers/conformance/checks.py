"""The checks: id, level, rule, source; and what a run says of each. Pure."""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dragoman_base.files import yamltext
from dragoman_base.words.nearnames import nearest

MUST, SHOULD, INFO = "must", "should", "info"
LEVELS = (MUST, SHOULD, INFO)
PASS, FAIL, NOT_RUN = STATUSES = ("pass", "fail", "not run")
FILE = Path(__file__).with_name("checks.yaml")
CHANGES = FILE.with_name("changes.yaml")
CONFORMANT, NOT_CONFORMANT, UNDECIDED = "conformant", "not conformant", "undecided"
GROUPS = {
    "R": "Registration",
    "P": "Prepare",
    "U": "Unprepare",
    "I": "Idempotency and concurrency",
    "C": "CDI documents",
    "K": "Restart, checkpoint, upgrade",
    "S": "ResourceSlices",
    "N": "Names",
    "A": "Admin access, sharing, status",
    "H": "Health",
    "X": "Permissions and safety",
    "V": "Versions",
    "M": "Operation",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule that a driver keeps or breaks."""

    id: str  # A letter of GROUPS and a number
    level: str  # `must`, `should` or `info`
    title: str  # The rule
    source: str  # Where the rule is from
    known: str  # Faults of drivers that broke it
    change: str = ""  # What to change in a driver that fails; `info` has none

    @property
    def group(self) -> str:
        """The title of its group."""
        return GROUPS[self.id[0]]


class FailedError(Exception):
    """The driver breaks the rule; the message says how."""


class NotRunError(Exception):
    """The rule cannot be checked here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What a run says of one check."""

    check: Check  # Which one
    status: str  # `pass`, `fail` or `not run`
    reason: str = ""  # Why it failed or was not run; what was measured
    steps: tuple[str, ...] = ()  # What was done and answered, to be done again by hand
    seconds: float = 0.0  # How long it took


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """The outcomes of a run."""

    driver: str  # Name of the driver, as it registered; empty where it did not
    version: str  # Of the driver, as the user names it or it publishes it
    outcomes: tuple[CheckOutcome, ...]  # In order of the checks
    # What else is known of the run, such as versions of components
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[CheckOutcome, ...]:
        """Outcomes of checks that failed, the musts first."""
        found = [one for one in self.outcomes if one.status == FAIL]
        return tuple(sorted(found, key=lambda one: LEVELS.index(one.check.level)))

    @property
    def verdict(self) -> str:
        """`conformant` needs every must to pass; one that was not run leaves it `undecided`."""
        musts = {one.check.id: one.status for one in self.outcomes if one.check.level == MUST}
        if FAIL in musts.values():
            return NOT_CONFORMANT
        return UNDECIDED if any(self.open_musts) else CONFORMANT

    @property
    def open_musts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids of the musts that were not run, and of those that were not selected."""
        status = {one.check.id: one.status for one in self.outcomes}
        musts = [one.id for one in table() if one.level == MUST]
        return (
            tuple(one for one in musts if status.get(one) == NOT_RUN),
            tuple(one for one in musts if one not in status),
        )

    def count(self, status: str, level: str = "") -> int:
        """Return how many outcomes have a status, of one level or of all."""
        return sum(one.status == status and level in ("", one.check.level) for one in self.outcomes)


@functools.cache
def table() -> tuple[Check, ...]:
    """Return all checks, in order."""
    changes = yamltext.own(CHANGES.read_bytes())
    entries = yamltext.own(FILE.read_bytes())
    return tuple(Check(**one, change=changes.get(one["id"], "")) for one in entries)


@functools.cache
def by_id() -> Mapping[str, Check]:
    """Return all checks by id."""
    return {one.id: one for one in table()}


def digest() -> str:
    """Return a digest of the checks: equal digests mean equal rules."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:16]


def select(only: Iterable[str], skip: Iterable[str], level: str) -> tuple[Check, ...]:
    """Return the checks that the user asks for, in order.

    Args:
        only: Ids or letters of groups; all when empty.
        skip: Ids or letters of groups.
        level: The lowest level that is wanted.

    Raises:
        ValueError: An id or a group that does not exist.
    """
    wanted, unwanted = ({one.upper() for one in names} for names in (only, skip))
    if unknown := sorted((wanted | unwanted) - {*by_id(), *GROUPS}):
        raise ValueError(misspelt(unknown[0]))
    return tuple(
        one
        for one in table()
        if (not wanted or {one.id, one.id[0]} & wanted)
        and not {one.id, one.id[0]} & unwanted
        and LEVELS.index(one.level) <= LEVELS.index(level)
    )


def misspelt(name: str) -> str:
    """Return what is wrong with the id of a check, and which ones may be meant."""
    letter = name[:1].upper()
    own = [one.id for one in table() if one.id[0] == letter and not name[1:2].isalpha()]
    titles = {title: one for one, title in GROUPS.items()}
    meant = f"{own[0]} to {own[-1]}" if own else nearest(name, titles)
    if meant in titles:
        meant = f"{titles[meant]} ({meant})"
    near = f"did you mean {meant}? " if meant else ""
    return f"unknown check {name!r}; {near}`dragoman conformance --list` lists them"


def need(condition: object, problem: str) -> None:
    """Raise FailedError with the problem unless the condition holds."""
    if not condition:
        raise FailedError(problem)
