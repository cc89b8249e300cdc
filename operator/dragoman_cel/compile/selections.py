"""Selections and indexes: `a.b["c"][i].?d`, `has(a.b)`, and the base they start from.

cel-go calls a selection an attribute and its steps qualifiers. It resolves an attribute as a whole
and counts one unit for each qualifier that it applied, plus one for the attribute itself unless
that is the branch of a condition or the key of another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.compile.closure import Closure, Code
from dragoman_cel.data import DefaultMap, Invalid
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.lookup import MISSING, find, index_of, missing_key
from dragoman_cel.representation import KEYS, LISTS, MAPS, NONE, Optional, go_name, reread
from dragoman_cel.state import COST, State, spend_text_steps


@dataclass(frozen=True, slots=True)
class Qualifier:
    """One field selection or index."""

    key: Any  # The constant key, or None when `code` computes it
    code: Code | None = None  # Computes the key
    cost: int = 0  # Fixed cost of computing the key
    optional: bool = False  # Whether it was written `.?` or `[?`.


@dataclass(frozen=True, slots=True)
class Selection:
    """A base and the qualifiers that apply to it."""

    base: Closure  # What the selection starts from
    slot: int  # Slot of the variable it starts from, 0 when it is no variable
    lead: int  # Cost of the selection itself, one unit less for a test: its last qualifier is free
    qualifiers: tuple[Qualifier, ...] = ()  # The outermost last
    test: bool = False  # Whether the last qualifier is only tested (`has`)

    def then(self, qualifier: Qualifier, *, test: bool = False) -> Selection:
        """Return the selection with one more qualifier."""
        return Selection(
            self.base, self.slot, self.lead - test, (*self.qualifiers, qualifier), test
        )

    def closure(self, release: Release, *, bare: bool = False) -> Closure:
        """Compile the selection.

        Args:
            release: How it evaluates.
            bare: Whether it has no cost of its own.
        """
        own = 0 if bare else self.lead
        cost = self.base.cost + own + sum(1 + qualifier.cost for qualifier in self.qualifiers)
        if not self.qualifiers:
            return Closure(self.base.run, cost, flat=self.base.flat)
        flat = self.base.flat and all(s.code is None and not s.optional for s in self.qualifiers)
        return Closure(_compiled(self, release, bare=bare), cost, flat=flat)


def _compiled(selection: Selection, release: Release, *, bare: bool) -> Code:
    keys = [qualifier.key for qualifier in selection.qualifiers]
    plain = all(
        type(qualifier.key) is str and not qualifier.optional for qualifier in selection.qualifiers
    )
    resolver = _Resolver(selection.qualifiers, release, test=selection.test, bare=bare)
    run = selection.base.run if selection.slot else _base(selection.base.run, resolver.cost)
    if selection.test and plain:
        return _plain_test(run, keys, resolver)
    if plain and selection.slot and len(keys) in _FROM_SLOT:
        return _FROM_SLOT[len(keys)](selection.slot, keys, resolver)
    if plain and len(keys) == 1:
        return _one_from(run, keys[0], resolver)
    return lambda state: resolver(state, run(state))


def _base(run: Code, qualifiers: int) -> Code:
    """Compile the base of a selection: its failure refunds all qualifiers."""

    def base(state: State) -> Any:
        try:
            return run(state)
        except EvaluationError:
            state[COST] -= qualifiers
            raise

    return base


# Fast closures for constant text keys. Anything unusual (a missing key, a list, a scalar, an
# optional base) raises KeyError or TypeError in Python, and _Resolver applies the qualifiers.


def _one(slot: int, keys: list[str], resolver: _Resolver) -> Code:
    key = keys[0]

    def run(state: State) -> Any:
        try:
            return state[slot][key]
        except (KeyError, TypeError):
            return resolver(state, state[slot])

    return run


def _two(slot: int, keys: list[str], resolver: _Resolver) -> Code:
    first, second = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second]
        except (KeyError, TypeError):
            return resolver(state, state[slot])

    return run


def _three(slot: int, keys: list[str], resolver: _Resolver) -> Code:
    first, second, third = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second][third]
        except (KeyError, TypeError):
            return resolver(state, state[slot])

    return run


def _four(slot: int, keys: list[str], resolver: _Resolver) -> Code:
    first, second, third, fourth = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second][third][fourth]
        except (KeyError, TypeError):
            return resolver(state, state[slot])

    return run


_FROM_SLOT = {1: _one, 2: _two, 3: _three, 4: _four}


def _one_from(base: Code, key: str, resolver: _Resolver) -> Code:
    def run(state: State) -> Any:
        value = base(state)
        try:
            return value[key]
        except (KeyError, TypeError):
            return resolver(state, value)

    return run


def _plain_test(base: Code, keys: list[str], resolver: _Resolver) -> Code:
    *before, last = keys

    def run(state: State) -> Any:
        start = value = base(state)
        try:
            for key in before:
                value = value[key]
        except (KeyError, TypeError):
            return resolver(state, start)
        if type(value) in MAPS and type(value) is not DefaultMap:
            found = value.get(last, MISSING)
            if type(found) is not Invalid:
                return found is not MISSING
        return resolver(state, start)

    return run


class _Resolver:
    """Applies qualifiers one by one, as cel-go does, and refunds those that it does not reach."""

    __slots__ = ("absent", "after", "bare", "charged", "cost", "kept", "qualifiers", "test")

    def __init__(
        self, qualifiers: tuple[Qualifier, ...], release: Release, *, test: bool, bare: bool
    ) -> None:
        self.charged = release.failures_qualify
        self.kept = release.optionals_kept
        self.qualifiers = qualifiers
        self.test = test
        # As a branch or key, `has` behind an optional returns an optional in cel-go.
        self.bare = bare
        self.absent = NONE if bare or not test else False
        # The cost of the qualifiers behind each one.
        costs = [1 + qualifier.cost for qualifier in qualifiers]
        self.after = [sum(costs[index + 1 :]) for index in range(len(costs))]
        self.cost = sum(costs)

    # One frame: selections nest as keys of each other, and Python's stack is the limit.
    def __call__(self, state: State, value: Any) -> Any:
        wrapped = type(value) is Optional
        if wrapped:
            if value is NONE:
                state[COST] -= self.cost
                return self.absent
            value = value.value if self.kept else reread(value).value
        last = len(self.qualifiers) - 1 if self.test else -1
        for index, qualifier in enumerate(self.qualifiers):
            wrapped = wrapped or qualifier.optional
            after = self.after[index]
            if type(value) is Invalid:
                state[COST] -= after + 1 + qualifier.cost
                raise value.error
            try:
                key = qualifier.key
                if qualifier.code is not None:
                    key = qualifier.code(state)
                    self.check(state, key)
                if index == last:
                    return self.tested(state, value, key, wrapped=wrapped)
                found = find(value, key)
            except EvaluationError:
                # Up to 1.37 a failed qualifier of an optional costs nothing.
                state[COST] -= after + (wrapped and not self.charged)
                raise
            if found is not MISSING:
                value = found
                if qualifier.optional and type(found) is Invalid:
                    state[COST] -= after + 1
                    raise found.error
            else:
                # cel-go counts a missing key, but not behind an optional.
                state[COST] -= after + wrapped
                return self.missing(value, key, wrapped=wrapped)
        return Optional(value) if wrapped else value

    def missing(self, value: Any, key: Any, *, wrapped: bool) -> Any:
        if wrapped:
            return self.absent
        raise missing_key(value, key)

    @staticmethod
    def check(state: State, key: Any) -> None:
        """Check the type of a key; a long text takes plain steps: it is compared and printed."""
        if type(key) not in KEYS:
            raise OperationError(f"invalid qualifier type: {go_name(key)}")
        spend_text_steps(state, key)

    def tested(self, state: State, value: Any, key: Any, *, wrapped: bool) -> Any:
        if type(value) in LISTS:
            index_of(key)
        found = find(value, key)
        if type(found) is Invalid:
            raise found.error
        present = found is not MISSING
        if wrapped and not present:
            state[COST] -= 1
        if wrapped and self.bare:
            return Optional(None) if present else NONE
        return present
