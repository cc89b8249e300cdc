"""Selectors compiled as the API server does, once for each expression."""

from dataclasses import dataclass

from dragoman.allocation.features import on_by_default
from dragoman_base.versions import Release, Version
from dragoman_base.versions import name as version_name
from dragoman_cel.errors import CompileError
from dragoman_cel.selectors import Selector
from dragoman_cel.selectors import compile as compile_selector
from dragoman_cel.syntax.macros import macros_of
from dragoman_cel.syntax.nodes import Node
from dragoman_cel.syntax.parser import parse
from dragoman_toolkit.linting.knowledge.context import Context

MAX_EXPRESSION = 10 * 1024
MAX_COST = 1_000_000


@dataclass(frozen=True, slots=True)
class CompiledSelector:
    """A selector, or why there is none."""

    selector: Selector | None  # What evaluates it; None where it does not compile
    tree: Node | None  # Its syntax; None as above
    error: str = ""  # The API server's words; empty for a good one
    offset: tuple[int, int] = (0, 0)  # Line and column of the error, from 0


def compiled(expression: str, context: Context) -> CompiledSelector:
    """Compile an expression once."""
    memory = context.memory.setdefault("selectors", {})
    if expression not in memory:
        memory[expression] = _compiled(expression, context.api.version)
    found: CompiledSelector = memory[expression]
    return found


def _compiled(expression: str, version: Version) -> CompiledSelector:
    size = len(expression.encode("utf-8", "replace"))
    if size > MAX_EXPRESSION:
        return CompiledSelector(
            None, None, f"Too long: may not be more than {MAX_EXPRESSION} bytes"
        )
    try:
        selector = compile_selector(
            expression,
            kubernetes=version_name(version),
            consumable_capacity=on_by_default("DRAConsumableCapacity", version),
            stored=False,
        )
    except CompileError as error:
        issue = next((one for one in error.issues if one.line), None)
        offset = (issue.line - 1, issue.column - 1) if issue else (0, 0)
        words = issue.message if issue else error.message
        return CompiledSelector(None, None, f"Invalid value: compilation failed: {words}", offset)
    if selector.max_cost > MAX_COST:
        return CompiledSelector(None, None, "Forbidden: too complex, exceeds cost limit")
    tree = parse(expression, macros_of(version, bind=True), Release(version))
    return CompiledSelector(selector, tree)
