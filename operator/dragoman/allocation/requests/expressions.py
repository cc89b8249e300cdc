"""CEL selectors, compiled once and evaluated once for devices that look alike to them.

Errors are values here, with the scheduler's words, because only the search knows whether it reaches
the device at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.allocation.features import Profile
from dragoman.allocation.timebudget import COST_LIMIT, TooExpensiveError, check, cost_left
from dragoman.model.device import Content
from dragoman.model.fields import Document
from dragoman_cel.conjuncts import conjuncts
from dragoman_cel.errors import CompileError, CostLimitExceeded, EvaluationError

if TYPE_CHECKING:
    from dragoman_cel.budget import StepBudget
    from dragoman_cel.deviceview import Device as View
    from dragoman_cel.selectors import Selector

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
_VIEWS = 1024

_PLAIN = {"int": int, "bool": bool, "string": str}


def hinted(message: str) -> str:
    """Add the scheduler's advice to an error about a missing name (1.37)."""
    return message + _HINT if "no such key:" in message else message


class Failure(NamedTuple):
    """A selector without a result."""

    message: str  # What went wrong
    # Whether the expression does not compile; otherwise it failed on the device
    compiling: bool = False


Result = bool | Failure
Reads = tuple[tuple[str, ...], ...]


def load_engine() -> None:
    """Load the CEL engine, which takes a fifth of a second: before a clock runs that is shorter."""
    from dragoman_cel import selectors  # noqa: F401, PLC0415 — many uses compile nothing


class Expression:
    """One selector, whose text is `text`, in one environment."""

    __slots__ = (
        "_by_reads",
        "_failure",
        "_parts",
        "_profile",
        "_reads",
        "_results",
        "_selector",
        "_views",
        "text",
    )

    def __init__(self, text: str, profile: Profile, views: Views) -> None:
        self.text = text
        self._views = views
        self._profile = profile
        self._parts: tuple[Expression, ...] | None = None
        self._results: dict[Content, Result] = {}
        self._by_reads: dict[Any, Result] = {}
        self._selector: Selector | None = None
        self._failure = Failure("")
        self._reads: Reads | None = None
        # The engine takes longer to load than the rest of the package; many uses compile nothing.
        from dragoman_cel import selectors  # noqa: PLC0415

        check()
        try:
            self._selector = selectors.compile(
                text,
                kubernetes=profile.kubernetes,
                list_attributes=profile.list_attributes,
                consumable_capacity=profile.features.ConsumableCapacity,
            )
        except CompileError as error:
            self._failure = Failure(error.message, compiling=True)
        else:
            reads = self._selector.reads
            self._reads = None if reads is None else tuple(sorted(reads))

    def on(self, content: Content) -> Result:
        """Return whether a device meets the selector, or why that is unknown."""
        found = self._results.get(content)
        if found is None:
            found = self._results[content] = self._evaluate(content)
            self._views.entries += 1
        return found

    def forget(self) -> None:
        """Drop all results, so that contents that no slice has any more need no memory."""
        self._results.clear()
        self._by_reads.clear()
        for one in self._parts or ():
            if one is not self:
                one.forget()

    def false_parts(self, content: Content) -> tuple[Expression, ...]:
        """Return the conjuncts that are false on a device, or fail where none is false."""
        parts = self.parts
        if len(parts) < 2:
            return (self,)
        results = [(one, one.on(content)) for one in parts]
        false = tuple(one for one, result in results if result is False)
        return false or tuple(one for one, result in results if result is not True) or (self,)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The conjuncts; itself where it has none, or one does not compile alone."""
        if self._parts is None:
            texts = conjuncts(self.text) if self._reads is not None else ()
            made = tuple(Expression(one, self._profile, self._views) for one in texts)
            alone = len(made) < 2 or any(one.failure.compiling for one in made)
            self._parts = (self,) if alone else made
        return self._parts

    @property
    def reads(self) -> Reads:
        """What decides the result: see `Selector.reads`; nothing where that is not known."""
        return self._reads or ()

    @property
    def failure(self) -> Failure:
        """Why the expression does not compile; without text where it does."""
        return self._failure

    def values(self, content: Content) -> dict[str, str]:
        """Return what the selector reads of a device, by its name in CEL; nothing if unknown."""
        found = {}
        for path in self._reads or ():
            values = [value for value in _read((path,), content) if value is not None]
            shown = values[0] if values else "unset"
            name = path[0] if len(path) == 1 else f"{path[0]}[{path[1]}].{path[2]}"
            plain = shown[1] if isinstance(shown, tuple) else shown
            found[name] = str(plain).lower() if isinstance(plain, bool) else str(plain)
        return found

    def _evaluate(self, content: Content) -> Result:
        if self._selector is None:
            return self._failure
        if self._reads is None or self._views.broken(content):
            return self._run(self._selector, content)
        key = (content.driver, *_read(self._reads, content))
        found = self._by_reads.get(key)
        if found is None:
            found = self._by_reads[key] = self._run(self._selector, content)
            self._views.entries += 1
        return found

    def _run(self, selector: Selector, content: Content) -> Result:
        limit = cost_left()
        try:
            return selector.matches(self._views(content), budget=self._views.budget, limit=limit)
        except EvaluationError as error:
            return failed(error, limit)


def failed(error: EvaluationError, limit: int) -> Failure:
    """Return why an evaluation failed.

    Args:
        error: What it raised.
        limit: What it was allowed to cost.

    Raises:
        TooExpensiveError: The scheduler would have gone on.
    """
    if limit < COST_LIMIT and isinstance(error, CostLimitExceeded):
        raise TooExpensiveError from None
    return Failure(error.message)


class Views:
    """Devices as selectors see them, the last ones used.

    Attributes:
        entries: Results that expressions remember.
        budget: Steps that all evaluations share; None where each has its own limits alone.
    """

    def __init__(self, profile: Profile, budget: StepBudget | None = None) -> None:
        self.budget = budget
        self._release = profile
        self._lists = profile.list_attributes or profile.lists_in_selectors
        self._shares = profile.features.ConsumableCapacity and not profile.stable
        self.entries = 0
        self._found: dict[Content, View] = {}
        self._broken: dict[Content, bool] = {}

    def __call__(self, content: Content) -> View:
        """Convert a device."""
        view = self._found.get(content)
        if view is None:
            if len(self._found) >= _VIEWS:
                self._found.clear()
            document = content.document
            if content.shareable and not self._shares:
                document = {**document, "allowMultipleAllocations": False}
            from dragoman_cel.deviceview import prepare  # noqa: PLC0415 — belongs to the engine

            view = prepare(
                document, self._release, driver=content.driver, list_attributes=self._lists
            )
            self._found[content] = view
        return view

    def broken(self, content: Content) -> bool:
        """Tell whether an attribute cannot be converted, so that every selector fails."""
        found = self._broken.get(content)
        if found is None:
            plain = all(map(_plain, content.attributes.values()))
            found = self._broken[content] = not plain and self(content).value is None
        return found

    def forget(self) -> None:
        """Drop what is known of devices."""
        self.entries = 0
        self._found.clear()
        self._broken.clear()


def _plain(attribute: Document) -> bool:
    """Tell whether a value converts without a look at it."""
    return any(type(value) is _PLAIN.get(kind) for kind, value in attribute.items())


def _read(reads: Reads, content: Content) -> Iterator[Any]:
    capacity: Document = content.document.get("capacity") or {}
    for path in reads:
        if path[0] == "attributes":
            yield from _values(content.attributes, path, content.driver)
        elif path[0] == "capacity":
            yield from _values(capacity, path, content.driver)
        elif path[0] == "allowMultipleAllocations":
            yield content.shareable
        else:
            yield content.driver


def _values(named: Document, path: tuple[str, ...], driver: str) -> Iterator[Any]:
    """Yield what stands under a name; without a domain the name belongs to the driver."""
    _, domain, name = path
    yield _frozen(named.get(f"{domain}/{name}"))
    if domain == driver:
        yield _frozen(named.get(name))


def _frozen(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, content),) = value.items()
        if type(content) in (str, int, bool):
            return kind, content
    return repr(value)
