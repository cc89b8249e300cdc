"""Deliberate differences from Kubernetes, each with its reason."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol
from unittest import mock

from dragoman_cel import deviceview, library, selectors
from dragoman_cel.environment import Program
from dragoman_cel.errors import EvaluationAborted
from dragoman_cel.rules import validation
from dragoman_cel.state import paced
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import parse_quantity
from tests.conformance.fuzzing.cases import Answer, differences

MUTABLE_QUANTITIES = "quantities never change here, in Go comparing and adding changes them"


class Case(Protocol):
    """A request for both sides."""

    def request(self) -> Answer:
        """Return the request to the oracle."""

    def ours(self) -> Answer:
        """Answer with dragoman."""


LOST_COUNT = "the count of a message in which cel-go itself failed is meaningless"


WRAPPED = "cel-go's cost of a test of a conditional without cost wraps below zero"
KEYS_BY_TYPE = "a list or map that is a key twice is named by its type: its text has no limit"
_KEY_TWICE = re.compile(r"insert failed: key ([\[{]).*? already exists")


def explanation(case: Case, theirs: Answer) -> str:
    """Return why the answers may differ, "" when they may not."""
    if differences(theirs, _attempt(case)) == ["cost"] and _message_fails_inside(case):
        return LOST_COUNT
    if (theirs.get("actual_cost") or theirs.get("cost") or 0) >= 1 << 63:
        return WRAPPED
    if not differences(_with_keys_by_type(theirs), _attempt(case)):
        return KEYS_BY_TYPE
    text = str(case.request())
    if "quantity" in text or ".capacity" in text:
        with quantities_as_in_go():
            if not differences(theirs, _attempt(case)):
                return MUTABLE_QUANTITIES
    return ""


def _with_keys_by_type(theirs: Answer) -> Answer:
    def named(found: re.Match[str]) -> str:
        return f"insert failed: key {'list' if found[1] == '[' else 'map'} already exists"

    answer: Answer = json.loads(_KEY_TWICE.sub(named, json.dumps(theirs)))
    return answer


def _message_fails_inside(case: Case) -> bool:
    """Return whether cel-go itself fails on a messageExpression, which the answer does not show."""
    failed: list[str] = []
    run = validation.Validation._run

    def running(self: validation.Validation, program: Program, data: tuple[Any, ...]) -> Any:
        try:
            return run(self, program, data)
        except EvaluationAborted as error:
            failed.append(error.message)
            raise

    with mock.patch.object(validation.Validation, "_run", running):
        _attempt(case)
    # The answer would contain an aborted rule, unlike an aborted message.
    return any(message.startswith("internal error: ") for message in failed)


@contextlib.contextmanager
def quantities_as_in_go() -> Iterator[None]:
    """Let quantities change under comparison and addition, as Kubernetes 1.36 does."""
    compare, add, sub = Quantity.compare, Quantity.add, Quantity.sub

    def comparing(self: Quantity, other: Quantity) -> int:
        if self.decimal != other.decimal:
            self.decimal = True
        return compare(self, other)

    def adding(self: Quantity, other: Quantity | int) -> Quantity:
        return _into(self, add(self, other))

    def subtracting(self: Quantity, other: Quantity | int) -> Quantity:
        return _into(self, sub(self, other))

    sums = {
        "quantity_add": adding,
        "quantity_add_int": adding,
        "quantity_sub": subtracting,
        "quantity_sub_int": subtracting,
    }
    with (
        mock.patch.object(Quantity, "compare", comparing),
        mock.patch.dict(library.OVERLOADS, {"quantity_compare_to": comparing}),
        mock.patch.dict(library.STATEFUL, paced(32, sums)),
        # Cached values must not change, and compiled expressions contain their functions.
        mock.patch.object(deviceview, "_parsed_quantity", parse_quantity),
        mock.patch.object(selectors, "_compiled", selectors._compiled.__wrapped__),
    ):
        yield


def _into(receiver: Quantity, total: Quantity) -> Quantity:
    """Write a sum into a decimal receiver, whose digits Go shares with what it returns."""
    if not receiver.decimal:
        return total
    Quantity.__init__(
        receiver, total.value, total.scale, decimal=True, apart=total.apart, suffix=receiver.suffix
    )
    return receiver


def _attempt(case: Case) -> dict[str, Any]:
    try:
        return case.ours()
    except Exception as error:  # noqa: BLE001 — the comparison reports it
        return {"crash": repr(error)}
