"""The conjuncts of a selector, as it is written: `a && (b && c)` has three, `a || b` is one.

A selector is false because of those that are false, so these are what an answer names. Their text
is cut from the expression by its tokens: nodes of the syntax tree know where they begin only.
"""

from functools import lru_cache

from dragoman_cel.syntax.tokens import Token, tokenize

_OPENING = frozenset({"LPAREN", "LBRACKET", "LBRACE"})
_CLOSING = frozenset({"RPAREN", "RBRACKET", "RBRACE"})
_WEAKER = frozenset({"OR", "QUESTION"})
"""Operators that bind less than `&&`: beside one, no conjunct stands alone."""
MOST = 64
"""Conjuncts of one expression; more are one."""


@lru_cache(512)
def conjuncts(expression: str) -> tuple[str, ...]:
    """Return the texts of the conjuncts in their order; the expression alone where it has none."""
    tokens, broken = tokenize(expression)
    if broken is not None or not tokens:
        return (expression,)
    found = [expression[a:b].strip() for a, b in _spans([token for _, token in _kinds(tokens)])]
    return tuple(found) if len(found) <= MOST else (expression,)


def _kinds(tokens: list[tuple[str, Token]]) -> list[tuple[str, Token]]:
    return [(kind, token._replace(kind=kind)) for kind, token in tokens]


def _spans(tokens: list[Token]) -> list[tuple[int, int]]:
    """Return where each conjunct of some tokens begins and ends."""
    if not tokens:
        return []
    last = tokens[-1]
    whole = (tokens[0].pos, last.pos + len(last.text))
    marks, depth = [], 0
    for index, token in enumerate(tokens):
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if depth == 0 and token.kind in _WEAKER:
            return [whole]
        if depth == 0 and token.kind == "AND":
            marks.append(index)
    if not marks:
        inner = tokens[1:-1] if _is_group(tokens) else []
        return _spans(inner) if inner else [whole]
    parts = zip([-1, *marks], [*marks, len(tokens)], strict=True)
    return [span for before, end in parts for span in _spans(tokens[before + 1 : end])]


def _is_group(tokens: list[Token]) -> bool:
    """Tell whether the first token is a parenthesis that the last one closes."""
    if tokens[0].kind != "LPAREN":
        return False
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if depth == 0:
            return index == len(tokens) - 1
    return False
