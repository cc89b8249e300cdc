"""Changes to the text of a selector: where parts of it begin and end, and what to write there."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman_cel.syntax.tokens import Token, tokenize

_OPEN, _CLOSE = ("LPAREN", "LBRACKET", "LBRACE"), ("RPAREN", "RBRACKET", "RBRACE")
_LOGIC = ("AND", "OR", "QUESTION", "COLON")
_OPERANDS = ("IDENT", "QUOTED_IDENT", "RPAREN", "RBRACKET", "RBRACE", "LITERAL")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Write `text` in place of a part of an expression."""

    start: int  # Offset in code points
    end: int  # As above; equal to the start where something is inserted
    text: str


def changed(expression: str, changes: Iterable[Change]) -> str:
    """Return an expression with changes that do not overlap."""
    for one in sorted(set(changes), reverse=True):
        expression = expression[: one.start] + one.text + expression[one.end :]
    return expression


class ExpressionText:
    """The tokens of one expression.

    Args:
        expression: One that can be parsed.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._tokens: list[tuple[str, Token]] = tokenize(expression)[0]
        self._starts = [token.pos for _, token in self._tokens]

    def condition(self, pos: int) -> tuple[int, int]:
        """Return where the smallest condition around an offset begins and ends.

        Conditions stand between `&&`, `||` and the signs of `? :`, with a negation before them.
        """
        index = max(bisect_right(self._starts, pos) - 1, 0)
        first, last = self._level(index)
        while first > 0 and not self._is_condition(first):
            first, last = self._level(first - 1)
        return self._tokens[first][1].pos, self._end(last)

    @property
    def is_conjunction(self) -> bool:
        """Whether a further condition can be put before the expression."""
        depth = 0
        for kind, _ in self._tokens:
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth == 0 and kind in ("OR", "QUESTION"):
                return False
        return True

    def decides(self, end: int) -> bool:
        """Tell whether a condition that ends at an offset decides a `? :`.

        A guard would then select the other branch.
        """
        index = bisect_right(self._starts, end - 1)
        return index < len(self._tokens) and self._tokens[index][0] == "QUESTION"

    def read_span(self, pos: int) -> tuple[int, int]:
        """Return where a read begins and ends whose dot or bracket is at an offset."""
        index = max(bisect_right(self._starts, pos) - 1, 0)
        if self._tokens[index][0] in _OPEN:
            last = self._closing(index)
        else:
            last = index + 1
            if last < len(self._tokens) and self._tokens[last][0] == "QUESTION":
                last += 1
        return self.operand_start(pos), self._end(min(last, len(self._tokens) - 1))

    def respelled(self, pos: int, names: tuple[tuple[str, str], ...]) -> tuple[Change, ...]:
        """Return a change of names within a read; empty where the text does not hold each once.

        Args:
            pos: The read's dot or bracket.
            names: Old and new name, quoted or not.
        """
        start, end = self.read_span(pos)
        old = written = self.expression[start:end]
        for before, after in names:
            if old.count(before) != 1:
                return ()
            written = written.replace(before, after)
        return (Change(start, end, written),)

    def literal(self, value: str) -> tuple[int, int] | None:
        """Return where a string stands; None where it does not stand once."""
        found = [
            token
            for _, token in self._tokens
            if token.kind == "STRING" and token.text[1:-1] == value
        ]
        return (found[0].pos, found[0].pos + len(found[0].text)) if len(found) == 1 else None

    def operand_end(self, pos: int) -> int:
        """Return where the chain of selections and calls ends that has a token at an offset."""
        index = max(bisect_right(self._starts, pos) - 1, 0)
        if self._tokens[index][0] in _OPEN:
            index = self._closing(index)
        elif self._tokens[index][0] == "DOT":
            index += 1
        while index + 1 < len(self._tokens):
            kind = self._tokens[index + 1][0]
            if kind == "DOT":
                index += 1 + (self._tokens[index + 2][0] == "QUESTION") + 1
            elif kind in ("LBRACKET", "LPAREN"):
                index = self._closing(index + 1)
            else:
                break
        return self._end(min(index, len(self._tokens) - 1))

    def operand_start(self, pos: int) -> int:
        """Return where the chain of selections and calls begins that has a token at an offset."""
        index = max(bisect_right(self._starts, pos) - 1, 0)
        while index > 0:
            kind, before = self._tokens[index][0], self._tokens[index - 1][0]
            if kind in _CLOSE:
                index = self._opening(index)
            elif kind in ("LPAREN", "LBRACKET") and before not in _OPERANDS:
                break
            elif kind in ("LPAREN", "LBRACKET", "DOT", "QUESTION") or before == "DOT":
                index -= 1
            else:
                break
        return self._tokens[index][1].pos

    def _level(self, index: int) -> tuple[int, int]:
        """Return the first and last token between logic operators at the nesting of a token."""
        first = last = index
        depth = 0
        while first > 0:
            kind = self._tokens[first - 1][0]
            depth += (kind in _CLOSE) - (kind in _OPEN)
            if depth < 0 or (depth == 0 and kind in (*_LOGIC, "COMMA")):
                break
            first -= 1
        depth = 0
        if self._tokens[index][0] in _OPEN:
            depth = 1
        while last + 1 < len(self._tokens):
            kind = self._tokens[last + 1][0]
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth < 0 or (depth == 0 and kind in (*_LOGIC, "COMMA")):
                break
            last += 1
        return first, last

    def _is_condition(self, index: int) -> bool:
        """Tell whether a condition begins with a token: all parentheses around it only group."""
        if self._tokens[index - 1][0] not in (*_LOGIC, "LPAREN"):
            return False
        depth = 0
        for number in range(index - 1, -1, -1):
            kind = self._tokens[number][0]
            depth += (kind in _CLOSE) - (kind in _OPEN)
            if depth < 0:
                if kind != "LPAREN":
                    return False
                before = self._tokens[number - 1][0] if number else ""
                closing = self._closing(number)
                after = self._tokens[closing + 1][0] if closing + 1 < len(self._tokens) else ""
                if before not in ("", *_LOGIC, "LPAREN") or after not in ("", *_LOGIC, "RPAREN"):
                    return False
                depth = 0
        return True

    def _closing(self, index: int) -> int:
        depth = 0
        for number in range(index, len(self._tokens)):
            kind = self._tokens[number][0]
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth == 0:
                return number
        return len(self._tokens) - 1

    def _opening(self, index: int) -> int:
        depth = 0
        for number in range(index, -1, -1):
            kind = self._tokens[number][0]
            depth += (kind in _CLOSE) - (kind in _OPEN)
            if depth == 0:
                return number
        return 0

    def _end(self, index: int) -> int:
        token = self._tokens[index][1]
        return token.pos + len(token.text)
