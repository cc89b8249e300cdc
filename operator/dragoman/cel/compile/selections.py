"""Selections and indexes: `a.b["c"][i].?d`, `has(a.b)`, and whatever they start from.

cel-go resolves a chain as a whole and counts one unit for each step that it applied, plus one for
the chain itself unless it is the branch of a condition or the key of another chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.cel.compile.closure import Code, Piece
from dragoman.cel.errors import EvaluationError
from dragoman.cel.lookup import MISSING, find, index_of, missing
from dragoman.cel.representation import (
    LISTS,
    MAPS,
    NO_KEYS,
    NONE,
    DefaultMap,
    Invalid,
    Optional,
    go_name,
)
from dragoman.cel.state import COST, State, burn_text


@dataclass(frozen=True, slots=True)
class Step:
    """One selection or index.

    Attributes:
        key: the constant key, or None when `code` computes it.
        code: computes the key.
        cost: fixed price of computing the key.
        optional: whether it was written `.?` or `[?`.
    """

    key: Any
    code: Code | None = None
    cost: int = 0
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A base and the steps from it.

    Attributes:
        base: what the chain starts from.
        slot: slot of the variable it starts from, 0 when it is no variable.
        lead: price of the chain itself.
        steps: the steps, outermost last.
        test: whether the last step only asks if it could be taken (`has`).
    """

    base: Piece
    slot: int
    lead: int
    steps: tuple[Step, ...] = ()
    test: bool = False

    def then(self, step: Step, *, test: bool = False) -> Chain:
        """Return the chain with one more step."""
        return Chain(self.base, self.slot, 0 if test else self.lead, (*self.steps, step), test)

    def piece(self, *, bare: bool = False) -> Piece:
        """Compile the chain; a bare one has no price of its own."""
        own = 0 if bare else self.lead
        cost = self.base.cost + own + sum(1 + step.cost for step in self.steps)
        if not self.steps:
            return Piece(self.base.run, cost, flat=self.base.flat)
        flat = self.base.flat and all(s.code is None and not s.optional for s in self.steps)
        return Piece(_resolver(self, bare=bare), cost, flat=flat)


def _resolver(chain: Chain, *, bare: bool) -> Code:
    keys = [step.key for step in chain.steps]
    plain = all(type(step.key) is str and not step.optional for step in chain.steps)
    walk = _Walk(chain.steps, test=chain.test, bare=bare)
    if chain.test and plain:
        return _plain_test(chain, keys, walk)
    if plain and chain.slot and len(keys) in _FROM_SLOT:
        return _FROM_SLOT[len(keys)](chain.slot, keys, walk)
    run = chain.base.run if chain.slot else _base(chain.base.run, walk.cost)
    if plain and len(keys) == 1:
        return _one_from(run, keys[0], walk)
    return lambda state: walk(state, run(state))


def _base(run: Code, steps: int) -> Code:
    """Compile what a chain starts from: when that fails, no step is taken."""

    def base(state: State) -> Any:
        try:
            return run(state)
        except EvaluationError:
            state[COST] -= steps
            raise

    return base


# Straight ways for constant text keys. Anything unusual (a missing key, a list, a scalar, an
# optional base) raises KeyError or TypeError in Python and goes the long way of _Walk.


def _one(slot: int, keys: list[str], walk: _Walk) -> Code:
    key = keys[0]

    def run(state: State) -> Any:
        try:
            return state[slot][key]
        except (KeyError, TypeError):
            return walk(state, state[slot])

    return run


def _two(slot: int, keys: list[str], walk: _Walk) -> Code:
    first, second = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second]
        except (KeyError, TypeError):
            return walk(state, state[slot])

    return run


def _three(slot: int, keys: list[str], walk: _Walk) -> Code:
    first, second, third = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second][third]
        except (KeyError, TypeError):
            return walk(state, state[slot])

    return run


def _four(slot: int, keys: list[str], walk: _Walk) -> Code:
    first, second, third, fourth = keys

    def run(state: State) -> Any:
        try:
            return state[slot][first][second][third][fourth]
        except (KeyError, TypeError):
            return walk(state, state[slot])

    return run


_FROM_SLOT = {1: _one, 2: _two, 3: _three, 4: _four}


def _one_from(base: Code, key: str, walk: _Walk) -> Code:
    def run(state: State) -> Any:
        value = base(state)
        try:
            return value[key]
        except (KeyError, TypeError):
            return walk(state, value)

    return run


def _plain_test(chain: Chain, keys: list[str], walk: _Walk) -> Code:
    *before, last = keys
    base = chain.base.run if chain.slot else _base(chain.base.run, walk.cost)

    def run(state: State) -> Any:
        start = value = base(state)
        try:
            for key in before:
                value = value[key]
        except (KeyError, TypeError):
            return walk(state, start)
        if type(value) in MAPS and type(value) is not DefaultMap:
            found = value.get(last, MISSING)
            if type(found) is not Invalid:
                return found is not MISSING
        return walk(state, start)

    return run


class _Walk:
    """Takes the steps of a chain one by one, as cel-go does, and gives back what was not taken."""

    __slots__ = ("absent", "after", "bare", "cost", "steps", "test")

    def __init__(self, steps: tuple[Step, ...], *, test: bool, bare: bool) -> None:
        self.steps = steps
        self.test = test
        # As a branch or key, cel-go leaves the answer of `has` behind an optional an optional.
        self.bare = bare
        self.absent = NONE if bare or not test else False
        # What the steps behind each step cost.
        self.after = [sum(1 + s.cost for s in steps[index + 1 :]) for index in range(len(steps))]
        self.cost = sum(1 + s.cost for s in steps)

    def __call__(self, state: State, value: Any) -> Any:
        wrapped = type(value) is Optional
        if wrapped:
            if value is NONE:
                state[COST] -= self.cost
                return self.absent
            value = value.value
        last = len(self.steps) - 1 if self.test else -1
        for index, step in enumerate(self.steps):
            wrapped = wrapped or step.optional
            after = self.after[index]
            if type(value) is Invalid:
                state[COST] -= after + 1 + step.cost
                raise value.error
            try:
                key = step.key
                if step.code is not None:
                    key = step.code(state)
                    self.check(state, key)
                if index == last:
                    present = self.tested(state, value, key, wrapped=wrapped)
                    return self.answer(present=present, wrapped=wrapped)
                found = find(value, key)
            except EvaluationError:
                # An optional step that fails is not taken; a plain one counts all the same.
                state[COST] -= after + step.optional
                raise
            if found is not MISSING:
                value = found
                if step.optional and type(found) is Invalid:
                    state[COST] -= after + 1
                    raise found.error
            else:
                state[COST] -= after + wrapped
                return self.nothing(value, key, wrapped=wrapped)
        return Optional(value) if wrapped else value

    def nothing(self, value: Any, key: Any, *, wrapped: bool) -> Any:
        """Answer for a key that is not there."""
        if wrapped:
            return self.absent
        raise missing(value, key)

    def answer(self, *, present: bool, wrapped: bool) -> Any:
        if wrapped and self.bare:
            return Optional(None) if present else NONE
        return present

    @staticmethod
    def check(state: State, key: Any) -> None:
        """Refuse what is no key; a long one is paid for, since it is compared and printed."""
        if type(key) in NO_KEYS:
            raise EvaluationError(f"invalid qualifier type: {go_name(key)}")
        burn_text(state, key)

    @staticmethod
    def tested(state: State, value: Any, key: Any, *, wrapped: bool) -> bool:
        if type(value) in LISTS:
            index_of(key)
        found = find(value, key)
        if type(found) is Invalid:
            raise found.error
        present = found is not MISSING
        if wrapped and not present:
            state[COST] -= 1
        return present
