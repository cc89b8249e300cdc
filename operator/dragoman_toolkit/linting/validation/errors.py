"""Field errors in the words of k8s.io/apimachinery/pkg/util/validation/field."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dragoman_base.versions import Release
from dragoman_base.words.nearnames import certain
from dragoman_configs.fielderrors import shorten
from dragoman_toolkit.linting.findings.edits import Set
from dragoman_toolkit.linting.findings.finding import Problem, Steps, render

INVALID = "dra/invalid"


@dataclass(frozen=True, slots=True)
class Name:
    """A name of something that is declared elsewhere in the object."""

    steps: Steps  # Its place
    written: str  # What stands there
    known: Collection[str]  # What is declared, but for what stands beside it already


@dataclass(slots=True)
class Errors:
    """Field errors of one object, collected."""

    release: Release  # What validates
    # The errors in the order in which they were found
    problems: list[Problem] = field(default_factory=list)

    def add(self, steps: Steps, text: str, rule: str = INVALID, advice: str = "") -> None:
        """Add an error whose words are complete."""
        self.problems.append(Problem(rule, steps, f"{render(steps)}: {text}", advice))

    def unknown(self, steps: Steps, name: Name, text: str, rule: str = INVALID) -> None:
        """Add: no such name is declared; where it can only mean one that is, that is advised."""
        meant = certain(name.written, name.known)
        advice, edits = (
            (f'did you mean "{meant}"?', (Set(name.steps, meant),)) if meant else ("", ())
        )
        message = f"{render(steps)}: {text}"
        self.problems.append(Problem(rule, steps, message, advice, edits=edits, safe=False))

    def required(self, steps: Steps, detail: str = "") -> None:
        """Add: the field is missing or empty."""
        self.add(steps, f"Required value: {detail}" if detail else "Required value")

    def invalid(self, steps: Steps, value: Any, detail: str) -> None:
        """Add: the value is none of the field's."""
        self.add(steps, f"Invalid value: {shorten(value)}: {detail}")

    def duplicate(self, steps: Steps, value: Any) -> None:
        """Add: another entry is the same."""
        self.add(steps, f"Duplicate value: {shorten(value)}")

    def forbidden(self, steps: Steps, detail: str) -> None:
        """Add: the field must not be set here."""
        self.add(steps, f"Forbidden: {detail}")

    def too_long(self, steps: Steps, limit: int) -> None:
        """Add: the text has too many bytes."""
        self.add(steps, f"Too long: may not be more than {limit} bytes")

    def too_many(self, steps: Steps, found: int, limit: int) -> None:
        """Add: the list has too many entries."""
        self.add(steps, f"Too many: {found}: must have at most {limit} items")

    def entries(
        self,
        steps: Steps,
        values: list[Any],
        limit: int,
        check: Callable[[Steps, Any], None],
        key: Callable[[Any], Any] | None = None,
    ) -> None:
        """Check a list: its length, then each entry, then that no two have the same key.

        Args:
            steps: The list.
            values: Its entries.
            limit: The most entries; a longer list is not looked into, as in the API server.
            check: Looks at one entry.
            key: What must be unique; None where nothing must.
        """
        if len(values) > limit:
            self.too_many(steps, len(values), limit)
            return
        for index, value in enumerate(values):
            check((*steps, index), value)
        if key is not None:
            self.unique(steps, map(key, values))

    def unique(self, steps: Steps, keys: Iterable[Any]) -> None:
        """Check that no key occurs twice."""
        for index, key in repeated(keys):
            self.duplicate((*steps, index), key)


def repeated(keys: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the keys that occurred before, with their index."""
    seen: set[Any] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield index, key
        seen.add(key)
