"""The nesting depth of an expression in cel-go's parser, computed without recursion."""

from dragoman_cel.syntax.nodes import Call, Comprehension, Ident, Literal, Node, Select, children
from dragoman_cel.syntax.tokens import Token

MAX_DEPTH = 250

_OPENING = frozenset(("LPAREN", "LBRACKET", "LBRACE"))
_CLOSING = frozenset(("RPAREN", "RBRACKET", "RBRACE"))
_RELATIONS = frozenset(("LT", "LE", "GT", "GE", "EQ", "NE", "IN"))
_SUMS = frozenset(("PLUS", "MINUS"))
_PRODUCTS = frozenset(("STAR", "SLASH", "PERCENT"))
_OPERANDS = frozenset(("LITERAL", "IDENT", "QUOTED_IDENT", "DOT"))
_RESETS = frozenset(("AND", "OR", "QUESTION", "COLON", "COMMA"))


def token_depth(tokens: list[tuple[str, Token]]) -> int:
    """Return how deep cel-go's parser nests one of its rules.

    Three of them matter. Each bracket nests all three; the last branch of `?:` nests the rule of
    expressions, a right operand the rule of relations or of sums and products.
    """
    deepest, outer, place = 1, [], _Place(1, 1, 1)
    previous = ""
    for terminal, _ in tokens:
        if terminal in _OPERANDS:
            previous = terminal
            continue
        if terminal in _OPENING:
            outer.append(place)
            place = _Place(place.expression + 1, place.relation + 1, place.product + 1)
        elif terminal in _CLOSING and outer:
            place = outer.pop()
        else:
            place.meet(terminal, previous)
        previous = terminal
        deepest = max(deepest, place.expression, place.relation, place.product)
    return deepest


class _Place:
    """The depth of each rule at one token between two brackets."""

    def __init__(self, expression: int, relation: int, product: int) -> None:
        self.base = (expression, relation, product)
        self.expression, self.relation = expression, relation
        self.sum = self.product = product

    def meet(self, terminal: str, previous: str) -> None:
        """Update the depths for the next token that is not a bracket."""
        _, relation, calculation = self.base
        if terminal in _RELATIONS:
            self.relation, self.sum, self.product = relation + 1, calculation, calculation
        elif terminal in _SUMS:
            self.sum = self.product = calculation + 1
        elif terminal in _PRODUCTS:
            self.product = self.sum + 1
        elif terminal in _RESETS:
            self.relation, self.sum, self.product = relation, calculation, calculation
            if terminal == "COMMA":
                self.expression = self.base[0]
            # `.?` and `[?` do not begin a condition.
            elif terminal == "QUESTION" and previous not in ("DOT", "LBRACKET"):
                self.expression += 1


_DEEPENING = frozenset(
    (
        "_?_:_", "_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "@in", "_+_", "_-_", "_*_", "_/_",
        "_%_", "_[_]", "_[?_]", "_?._",
    )
)  # fmt: skip


_LEAVES = frozenset((Ident, Literal))


def _written(node: Node) -> list[Node]:
    """Return the parts of a node in the source text, without those that a macro adds."""
    if isinstance(node, Comprehension):
        return [node.range, *(part for part in node.body if part is not None)]
    return children(node)


def tree_depth(tree: Node) -> int:
    """Return the greatest number of nested operators, selections and calls, without recursion."""
    depths: dict[int, int] = {}
    pending: list[tuple[Node, list[Node] | None]] = [(tree, None)]
    while pending:
        node, parts = pending.pop()
        if parts is None:
            if id(node) in depths or type(node) in _LEAVES:
                continue
            parts = _written(node)
            pending.append((node, parts))
            pending += [(part, None) for part in parts]
        else:
            below = [depths.get(id(part), 0) for part in parts]
            depths[id(node)] = max(below, default=0) + _deepens(node)
    return depths.get(id(tree), 0)


def _deepens(node: Node) -> bool:
    if isinstance(node, Call):
        return node.target is not None or node.function in _DEEPENING
    return isinstance(node, (Select, Comprehension))
