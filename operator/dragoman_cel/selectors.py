"""The environment of DRA device selectors, as kube-scheduler evaluates them.

Source: k8s.io/dynamic-resource-allocation/cel, KEP-4381, KEP-5075 (consumable capacity), KEP-5491
(list attributes).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import EllipsisType
from typing import Any

from dragoman_base import versions
from dragoman_base.versions import Release
from dragoman_cel import types
from dragoman_cel.budget import EVALUATION_STEPS, StepBudget
from dragoman_cel.data import Invalid
from dragoman_cel.deviceview import Device, Part, narrow, prepare
from dragoman_cel.environment import COST_LIMIT, FAILURES, Environment, Program, with_cost
from dragoman_cel.errors import CompileError, CostLimitExceeded, OperationError
from dragoman_cel.representation import NONE, Optional, type_name
from dragoman_cel.selectorenvironment import environment
from dragoman_cel.state import COST, State
from dragoman_cel.types import Type

MAX_EXPRESSION = 10 * 1024
"""Longest expression that the API server accepts; longer ones compile, but are not cached."""


class Selector:
    """A compiled selector: immutable, so that threads can share it.

    Attributes:
        expression: Its text.
        program: Its program, with the checked type.
        list_attributes: Whether devices may have lists as attributes.
        release: What evaluates.
    """

    __slots__ = (
        "_cost", "_local_slots", "_parts", "_run", "expression", "list_attributes", "program",
        "release",
    )  # fmt: skip

    def __init__(self, program: Program, release: Release, *, list_attributes: bool) -> None:
        self.release = release
        self.expression = program.expression
        self.program = program
        self.list_attributes = list_attributes
        self._parts: tuple[Part, ...] | EllipsisType | None = ...
        self._run = program.run
        self._cost = program.cost
        self._local_slots = program.local_slots

    @property
    def max_cost(self) -> int:
        """Return the worst-case cost; the API server rejects selectors above 1,000,000."""
        return self.program.max_cost

    @property
    def reads(self) -> frozenset[tuple[str, ...]] | None:
        """Return which parts of `device` decide the result, None for all of them.

        A part is ("driver",), ("allowMultipleAllocations",), or ("attributes" or "capacity",
        domain, name). An attribute that cannot be converted fails every selector beside that,
        unless it fails only who reads it (1.38).
        """
        found = {path[:3] for path in self.program.reads("device")}
        whole = {"driver", "allowMultipleAllocations"}
        if all(len(path) == 3 or (path and path[0] in whole) for path in found):
            return frozenset(found)
        return None

    def prepare(self, device: Mapping[str, Any], *, driver: str = "") -> Device:
        """Convert a device once for many calls of `matches`.

        For an invalid device, `matches` and `evaluate` raise the error.

        Args:
            device: As for `matches`.
            driver: As for `matches`.
        """
        return prepare(device, self.release, driver=driver, list_attributes=self.list_attributes)

    def matches(
        self,
        device: Mapping[str, Any] | Device,
        *,
        driver: str = "",
        budget: StepBudget | None = None,
        limit: int = COST_LIMIT,
    ) -> bool:
        """Return whether a device matches the selector.

        Args:
            device: The API's JSON form (`attributes`, `capacity`, `allowMultipleAllocations`), or
                a prepared device.
            driver: Name of the driver, the domain of names without one; a prepared device has it.
            budget: Plain steps shared with other evaluations.
            limit: Cost, and plain steps, that end the evaluation; the scheduler's by default.

        Raises:
            EvaluationError: With the scheduler's text, where the scheduler aborts the pod. Also for
                an invalid device.
            CostLimitExceeded: The evaluation cost more than 1,000,000 units, or 850,000 steps.
        """
        ready = device if isinstance(device, Device) else self._narrowed(device, driver)
        value = ready.value
        if value is None:
            raise ready.error
        if limit < COST_LIMIT:
            steps = StepBudget(limit) if budget is None else budget
            return self._answer(self.program.evaluate((value,), cost_limit=limit, budget=steps)[0])
        if budget is not None:
            return self._answer(self.program.evaluate((value,), budget=budget)[0])
        state: State = [self._cost, COST_LIMIT, EVALUATION_STEPS, value, *self._local_slots]
        # Program.result inlined: it saves one Python call for each device.
        try:
            result = self._run(state)
        except FAILURES as error:
            result = self.program.recovered(error, state)
        if state[COST] > COST_LIMIT:
            raise with_cost(CostLimitExceeded(), state)
        return result if result is True or result is False else self._answer(result)

    def _narrowed(self, device: Mapping[str, Any], driver: str) -> Device:
        """Convert what this selector reads of a device, all of it where that is not known."""
        if self._parts is ...:
            known = self.reads if self.release.attributes_lazy else None
            self._parts = None
            if known is not None:
                self._parts = tuple(sorted(part for part in known if len(part) == 3))
        if self._parts is None:
            return self.prepare(device, driver=driver)
        return narrow(device, driver, self._parts)

    def evaluate(self, device: Device, *, budget: StepBudget | None = None) -> tuple[Any, int]:
        """Return the typed result and its cost in CEL units.

        Raises:
            EvaluationError: As `matches`; `cost` is the cost until then.
        """
        if device.value is None:
            raise device.error
        return self.program.evaluate((device.value,), budget=budget)

    @staticmethod
    def _answer(result: Any) -> bool:
        content = result
        while type(content) is Optional and content is not NONE:
            content = content.value
        if type(content) is bool:
            return content
        text = f"CEL result of type {type_name(result)} could not be converted to bool: "
        if type(content) is Invalid:
            raise OperationError(f"{text}{content.error}")
        raise OperationError(
            text + _CONVERSIONS.get(type_name(content), "unsupported type conversion")
        )


_CONVERSIONS = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "string": "unsupported native conversion from string to 'bool'",
    "double": "type conversion error from Double to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "type": "type conversion not supported for 'type'",
    "google.protobuf.Timestamp": "type conversion error from 'Timestamp' to 'bool'",
    "google.protobuf.Duration": "type conversion error from 'Duration' to 'bool'",
    "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
    "kubernetes.URL": "type conversion error from 'URL' to 'bool'",
    "net.IP": "type conversion error from 'IP' to 'bool'",
    "net.CIDR": "type conversion error from 'CIDR' to 'bool'",
    "kubernetes.NamedFormat": "type conversion error from 'Format' to 'bool'",
    "null_type": "type conversion error from 'null_type' to 'bool'",
    "optional_type": "optional.none() dereference",
}
"""Go's text for a result that is not a bool."""


def compile(  # noqa: A001 — read as device.compile
    expression: str,
    *,
    kubernetes: str = versions.name(versions.DEFAULT),
    list_attributes: bool = False,
    consumable_capacity: bool = True,
    stored: bool = True,
) -> Selector:
    """Compile a device selector; the same text in the same environment is compiled once.

    Args:
        expression: The selector.
        kubernetes: The version whose environment applies, such as "1.34" or "v1.36.2"; what is
            newer than the newest known one counts as that.
        list_attributes: Feature gate DRAListTypeAttributes (since 1.36, off by default).
        consumable_capacity: Feature gate DRAConsumableCapacity (since 1.34, on by default since
            1.36), without which `device.allowMultipleAllocations` does not exist.
        stored: Whether the expression is stored already, as for the scheduler. At admission, new
            ones can use only the libraries of the version before, and since 1.37 lists only
            with the gate.

    Raises:
        CompileError: The text of the scheduler's error, with positions in `issues`.
        ValueError: `kubernetes` is not a version.
    """
    compiled = _compiled if len(expression) <= MAX_EXPRESSION else _compiled.__wrapped__
    return compiled(expression, kubernetes, list_attributes, consumable_capacity, stored)


@lru_cache(256)
def _compiled(
    expression: str,
    kubernetes: str,
    list_attributes: bool,  # noqa: FBT001 — see above
    consumable_capacity: bool,  # noqa: FBT001 — see above
    stored: bool,  # noqa: FBT001 — see above
) -> Selector:
    version = min(versions.parse(kubernetes), versions.NEWEST)
    release = Release(version)
    lists = list_attributes or (stored and release.lists_in_selectors)
    includes = lists or (stored and release.includes_stored)
    libraries = version if stored else (version[0], version[1] - 1)
    scope = environment(libraries, lists, includes, consumable_capacity, release)
    allowed = (types.BOOL, types.ANY, types.DYN) if lists else (types.BOOL, types.ANY)
    program = _program(expression, scope, allowed)
    return Selector(program, release, list_attributes=lists or release.lists_in_selectors)


def _program(expression: str, scope: Environment, allowed: tuple[Type, ...]) -> Program:
    def result_error(of: Type) -> str:
        if of in allowed:
            return ""
        return f"must evaluate to bool or the unknown type, not {of.declared}"

    try:
        return scope.compile(expression, check_result=result_error)
    except CompileError as error:
        if not error.issues:
            raise
        raise CompileError(f"compilation failed: {error.message}", error.issues) from None
