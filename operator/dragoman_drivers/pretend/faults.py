"""How the pretended driver misbehaves on request: each fault breaks one rule of the interfaces.

`--fault NAME` or `--fault NAME=VALUE`, and at run time lines of the file `faults` in the driver's
folder below `plugins`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman_base.words.spelling import closest

NONE: Mapping[str, str] = {}
CONDITIONS = {
    "slow": "each preparation takes VALUE seconds longer",
    "failing": "each preparation fails with VALUE",
    "clinging": "each unprepare fails with VALUE",
    "unhealthy": "device VALUE is unhealthy and has a taint",
    "lost": "device VALUE is not there",
    "enumeration": "the devices are found in the order VALUE: reversed",
    "checkpoint": "the checkpoint is that of an older release: VALUE is first",
}
"""States that a real driver may be in."""


class FaultError(ValueError):
    """A fault that is not known; the message has those that are near."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How the driver misbehaves."""

    slow: float = 0  # Seconds that each preparation takes longer
    failing: str = ""  # What each preparation fails with, unless empty
    clinging: str = ""  # What each unprepare fails with, unless empty
    unhealthy: frozenset[str] = frozenset()  # Names of devices that fail
    lost: frozenset[str] = frozenset()  # Names of devices that are not there
    enumeration: str = ""  # Order in which devices are found, unless empty
    checkpoint: str = ""  # The older release whose checkpoint is kept, unless empty
    mutants: frozenset[str] = field(default_factory=frozenset)  # Further ones, by name

    def __contains__(self, mutant: object) -> bool:
        """Whether it has a further fault."""
        return mutant in self.mutants


def parse(texts: Iterable[str], known: Mapping[str, str] = NONE) -> Faults:
    """Read faults as options and the fault file spell them.

    Args:
        texts: `NAME` or `NAME=VALUE`.
        known: Names that a driver under test adds to CONDITIONS, each without a value.

    Raises:
        FaultError: An unknown name, or a value where none belongs.
    """
    given: dict[str, list[str]] = {}
    mutants: set[str] = set()
    for text in filter(None, map(str.strip, texts)):
        name, equals, value = text.partition("=")
        if name in known and not equals:
            mutants.add(name)
        elif name in CONDITIONS and value:
            given.setdefault(name, []).append(value)
        else:
            raise FaultError(_unknown(name, known))
    return Faults(
        _seconds(given.get("slow", ["0"])[-1]),
        given.get("failing", [""])[-1],
        given.get("clinging", [""])[-1],
        frozenset(given.get("unhealthy", ())),
        frozenset(given.get("lost", ())),
        _one_of("enumeration", "reversed", given),
        _one_of("checkpoint", "first", given),
        frozenset(mutants),
    )


def _one_of(name: str, known: str, given: Mapping[str, list[str]]) -> str:
    text = given.get(name, [""])[-1]
    if text not in {"", known}:
        raise FaultError(f"{name}={text}: known is {name}={known}")
    return text


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FaultError(f"slow={text}: expected a number of seconds") from None


def _unknown(name: str, known: Mapping[str, str]) -> str:
    if name in known:
        return f"fault {name} takes no value"
    if name in CONDITIONS:
        return f"fault {name} needs a value: --fault {name}=VALUE ({CONDITIONS[name]})"
    near = closest(name, [*known, *CONDITIONS])
    return f"unknown fault {name!r}{f'; did you mean {near}?' if near else ''}; --list-faults"
