"""A run in words."""

from collections.abc import Iterator
from itertools import islice

from tests.simulation.execution import Outcome

VERBS = {"create": "creates", "update": "updates", "patch": "patches", "delete": "deletes"}
SINGULAR = {
    "pods": "pod",
    "nodes": "node",
    "resourceclaims": "claim",
    "resourceclaimtemplates": "template",
    "resourceslices": "slice",
    "devicetaintrules": "rule",
}
LONGEST = 80


def story(outcome: Outcome) -> list[str]:
    """Return what happened, one sentence a line; a long run keeps its end."""
    lines = [*_sentences(outcome)]
    if len(lines) > LONGEST:
        return [f"({len(lines) - LONGEST} lines left out)", *lines[-LONGEST:]]
    return lines


def _sentences(outcome: Outcome) -> Iterator[str]:
    for time, first, *rest in outcome.trace:
        if first == "do":
            kind, *arguments = rest
            yield f"{time:>8} s  event {kind} {' '.join(map(str, arguments))}".rstrip()
        elif first == "VIOLATION":
            yield f"{time:>8} s  VIOLATED {rest[0]}: {rest[1]}"
        elif first in ("start", "kill", "stop", "pause", "restore", "lease", "refused"):
            yield f"{time:>8} s  {first} {' '.join(map(str, rest))}"
        elif first == "setup":
            continue
        elif len(rest) == 6:
            verb, kind, plural, namespace, name, version = rest
            what = SINGULAR.get(str(plural), str(plural))
            gone = ", which is gone" if kind == "DELETED" and verb != "delete" else ""
            place = "/".join(filter(None, islice((str(namespace), str(name)), 2)))
            did = VERBS.get(str(verb), str(verb))
            yield f"{time:>8} s  {first} {did} {what} {place}{gone} (version {version})"
