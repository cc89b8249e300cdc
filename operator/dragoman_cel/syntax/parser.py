"""Parse an expression: run the grammar's LALR(1) table, build the tree, expand macros."""

from collections.abc import Mapping
from functools import cache

from dragoman_base.versions import Release
from dragoman_cel.errors import failure
from dragoman_cel.syntax.builders import BUILDERS, Builder, SyntaxIssue, misplaced
from dragoman_cel.syntax.macros import Expander, Key
from dragoman_cel.syntax.nesting import MAX_DEPTH, token_depth, tree_depth
from dragoman_cel.syntax.nodes import Node
from dragoman_cel.syntax.table import END, RULES, STATES
from dragoman_cel.syntax.tokens import Token, tokenize

MAX_CODE_POINTS = 100_000

TOO_DEEP = f"expression recursion limit exceeded: {MAX_DEPTH}"
_RULES = tuple((name, size, BUILDERS[build] if build else None) for name, size, build in RULES)


def parse(source: str, macros: Mapping[Key, Expander], release: Release) -> Node:
    """Return the syntax tree of an expression with its macros expanded.

    Args:
        source: The expression, at most 100,000 code points, nested at most 250 deep.
        macros: The macros of the environment.
        release: What evaluates it.

    Raises:
        CompileError: With every issue that was found, in source order.
    """
    if len(source) > MAX_CODE_POINTS:
        limit = f"size: {len(source)}, limit {MAX_CODE_POINTS}"
        raise failure(source, [(-1, f"expression code point size exceeds limit: {limit}")])
    tokens, broken = tokenize(source)
    if broken is not None:
        raise failure(source, [broken])
    if len(tokens) > MAX_DEPTH and token_depth(tokens) > MAX_DEPTH:
        raise failure(source, [(-1, TOO_DEEP)])
    builder = Builder(macros, release)
    try:
        tree = _run(tokens, builder, len(source))
    except SyntaxIssue as issue:
        builder.issues.append((issue.pos, str(issue)))
        raise failure(source, builder.issues) from None
    if builder.issues:
        raise failure(source, builder.issues)
    if len(tokens) > MAX_DEPTH and tree_depth(tree) > MAX_DEPTH:
        raise failure(source, [(-1, TOO_DEEP)])
    return tree


@cache
def _settled(below: int, top: int, terminal: str) -> tuple[int, int | None]:
    """Apply the rules that only pass a value on; return the state and its action.

    A literal is a primary, an operand, a negation, a product, a sum and so on: ten reductions that
    build nothing, the same ones each time. The cache is finite, because the table is.
    """
    while True:
        action = None if top == END else STATES[top].get(terminal)
        if action is None or action >= 0:
            return top, action
        nonterminal, _, build = _RULES[~action]
        if build is not None:
            return top, action
        top = STATES[below][nonterminal]


def _run(tokens: list[tuple[str, Token]], builder: Builder, end: int) -> Node:
    states, values = [0, 0], [None]
    tokens.append(("$END", Token("$END", "<EOF>", end)))
    for terminal, token in tokens:
        while True:
            states[-1], action = _settled(states[-2], states[-1], terminal)
            if action is None:
                # A closing bracket ends an expression as well; only the end of the text ends all.
                if states[-1] == END and terminal == "$END":
                    return values[-1]  # type: ignore[return-value]
                raise misplaced(token)
            if action >= 0:
                break
            nonterminal, size, build = _RULES[~action]
            value = build(builder, *values[-size:])  # type: ignore[misc]
            del values[-size:], states[-size:]
            values.append(value)
            states.append(STATES[states[-1]][nonterminal])
        states.append(action)
        values.append(token)  # type: ignore[arg-type]
    raise AssertionError("the end of the text is always shifted or an error")
