"""What is written into a selector and can be judged without any device."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import CostLimitExceeded, EvaluationError, StepBudgetExceeded
from dragoman_cel.syntax.nodes import Call, ListNode, Literal, Node, Select, children
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from dragoman_toolkit.linting.knowledge.meant import driver_meant, impossible_driver
from dragoman_toolkit.linting.knowledge.migprofiles import nearest_profile
from dragoman_toolkit.linting.rules.units import quantity_meant, semver_meant
from dragoman_toolkit.linting.selectors.compilation import compiled
from dragoman_toolkit.linting.selectors.expressiontext import Change, ExpressionText
from dragoman_toolkit.linting.selectors.remark import INVALID, NEVER, Remark
from dragoman_toolkit.linting.selectors.syntax import is_device, read_key, subject

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OF_TEXT = ("startsWith", "endsWith", "contains")
_NO_DRIVER = re.compile(r"[^a-z0-9.-]", re.ASCII)
_MAX_CONSTANTS = 64
"""Calls of one selector that are evaluated."""
_PROFILE = ("attributes", "gpu.nvidia.com", "profile")
_MEANT = {"semver": semver_meant, "quantity": quantity_meant}


def remarks(tree: Node, text: ExpressionText, context: Context) -> Iterator[Remark]:
    """Yield what is wrong with constants of a selector, whatever the devices are."""
    left = _MAX_CONSTANTS
    for node in _nodes(tree):
        if isinstance(node, Select) and (found := _selected(node)) is not None:
            yield found
        if not isinstance(node, Call):
            continue
        if left and _is_constant(node):
            left -= 1
            yield from _failing(node, text, context)
        for value in _compared(node, _is_driver):
            yield from _driver(value, text, context.devices)
        if node.function in _OF_TEXT and node.target is not None and _is_driver(node.target):
            yield from _part_of_driver(node)
        for value in _compared(node, lambda one: subject(one) == _PROFILE):
            yield from _profile(value, text)


def _nodes(tree: Node) -> Iterator[Node]:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def _is_constant(node: Call) -> bool:
    parts = [*node.args, *((node.target,) if node.target is not None else ())]
    plain = all(isinstance(one, Literal) for one in parts)
    return bool(parts) and plain and _NAME.fullmatch(node.function) is not None


def _failing(node: Call, text: ExpressionText, context: Context) -> Iterator[Remark]:
    """Find a call that fails with its constants, as `semver("8.0")`, by evaluating it."""
    start, end = text.operand_start(node.pos), text.operand_end(node.pos)
    written = text.expression[start:end]
    if (error := _error(written, context)) is None:
        return
    message = f"{written} fails on every device: {error}"
    value = node.args[0].value if node.args and isinstance(node.args[0], Literal) else None
    meant = _MEANT[node.function](str(value)) if node.function in _MEANT else None
    instead = f'{node.function}("{meant}")' if meant else ""
    if not instead or _error(instead, context) is not None:
        yield Remark(INVALID, message)
        return
    changes = (Change(start, end, instead),)
    yield Remark(INVALID, message, f"write {instead}", changes=changes)


def _error(call: str, context: Context) -> str | None:
    """Return the error of a call with constants; None where it has a value."""
    selector = compiled(f"[dyn({call})].size() == 1", context).selector
    if selector is None:
        return None
    try:
        selector.matches({}, driver="", budget=StepBudget(10_000))
    except EvaluationError as error:
        return str(error)
    except (CostLimitExceeded, StepBudgetExceeded):
        return None
    return None


def _selected(node: Select) -> Remark | None:
    """Find a field of an attribute, such as `.string`; an attribute is a plain value."""
    key = read_key(node.operand)
    if key is None or node.test or key[0] != "attributes":
        return None
    right = f'device.attributes["{key[1]}"].{key[2]}'
    message = f"{right} is a plain value and has no {node.name}: it fails on every device"
    return Remark(INVALID, message, f"write {right}")


def _compared(node: Call, wanted: Any) -> Iterator[str]:
    """Yield the strings that something is compared with, or looked for among."""
    if node.function in ("_==_", "@in") and len(node.args) == 2:
        left, right = node.args
        pairs = ((left, right), (right, left)) if node.function == "_==_" else ((left, right),)
        for subject_, other in pairs:
            if wanted(subject_):
                values = other.items if isinstance(other, ListNode) else [other]
                for one in values:
                    if isinstance(one, Literal) and isinstance(one.value, str):
                        yield one.value


def _is_driver(node: Node) -> bool:
    return isinstance(node, Select) and node.name == "driver" and is_device(node.operand)


def _driver(name: str, text: ExpressionText, devices: KnownDevices) -> Iterator[Remark]:
    if not impossible_driver(name):
        return
    message = f'no driver can have the name "{name}": names of drivers are DNS subdomains'
    guess = driver_meant(name, devices)
    if guess is None:
        yield Remark(NEVER, message)
        return
    place = text.literal(name)
    changes = (Change(*place, f'"{guess}"'),) if place else ()
    yield Remark(NEVER, message, f'did you mean "{guess}"?', changes=changes)


def _part_of_driver(node: Call) -> Iterator[Remark]:
    """Find a part that no name of a driver has, such as a slash."""
    value = node.args[0].value if isinstance(node.args[0], Literal) else ""
    if isinstance(value, str) and _NO_DRIVER.search(value):
        message = f'no driver has "{value}" in its name: names of drivers are DNS subdomains'
        yield Remark(NEVER, message)


@cache
def _no_profile(value: str) -> str | None:
    return nearest_profile(value)


def _profile(value: str, text: ExpressionText) -> Iterator[Remark]:
    guess = _no_profile(value)
    if guess is None:
        return
    message = f'no known GPU has the MIG profile "{value}"'
    place = text.literal(value) if guess else None
    changes = (Change(*place, f'"{guess}"'),) if place else ()
    yield Remark(NEVER, message, f'did you mean "{guess}"?' if guess else "", changes=changes)
