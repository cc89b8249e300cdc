"""Errors of expressions: at compile time and at run time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

ISSUES_MAX = 100
"""Most issues that an error reports: the first ones, as in cel-go."""

_SNIPPET_MAX = 16_384
"""Bytes of the longest source line in an error text."""
_WIDE_DOT = "\uff0e"
_WIDE_CARET = "\uff3e"


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem of the parser or the type checker."""

    message: str  # The wording of cel-go, without position
    line: int = 0  # 1-based line; 0 when the problem has no position
    column: int = 0  # 1-based column in code points; 0 when it has no position

    @classmethod
    def at(cls, source: str, pos: int, message: str) -> Self:
        """Make an issue at an offset in code points; a negative offset means no position."""
        if pos < 0:
            return cls(message)
        start = source.rfind("\n", 0, pos) + 1
        return cls(message, source.count("\n", 0, pos) + 1, pos - start + 1)

    def picture(self, source: str) -> str:
        """Return cel-go's text of the issue: position, source line and a caret below it."""
        if not self.line:
            return f"ERROR: <input>:-1:0: {self.message}"
        text = source.split("\n")[self.line - 1].replace("\t", " ")
        head = f"ERROR: <input>:{self.line}:{self.column}: {self.message}"
        if len(text.encode(errors="replace")) > _SNIPPET_MAX:
            return head
        before, below = text[: self.column - 1], text[self.column - 1 : self.column]
        dots = "".join("." if one.isascii() else _WIDE_DOT for one in before)
        return f"{head}\n | {text}\n | {dots}{'^' if below.isascii() else _WIDE_CARET}"


class CompileError(Exception):
    """An expression that is invalid in its environment.

    Attributes:
        issues: The problems found, in source order, at most `ISSUES_MAX`; `line` and `column`
            are the first one's.
    """

    def __init__(self, message: str, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.issues = issues

    @property
    def line(self) -> int:
        """Return the 1-based line of the first issue, 0 without one."""
        return self.issues[0].line if self.issues else 0

    @property
    def column(self) -> int:
        """Return the 1-based column of the first issue, 0 without one."""
        return self.issues[0].column if self.issues else 0


def failure(source: str, issues: list[tuple[int, str]]) -> CompileError:
    """Make the error of some (offset, message) issues; its text draws the first ones.

    Args:
        source: The expression.
        issues: At least one; a negative offset means no position.
    """
    kept = sorted(issues[:ISSUES_MAX], key=lambda issue: issue[0])
    found = tuple(Issue.at(source, pos, text) for pos, text in kept)
    pictures = [issue.picture(source) for issue in found]
    if len(issues) > len(found):
        pictures.append(f"{len(issues) - len(found)} more errors were truncated")
    return CompileError("\n".join(pictures), found)


class EvaluationError(Exception):
    """An expression that failed on a value, with cel-go's text.

    It never holds the value itself unless cel-go's text does (`no such key: x`).

    Attributes:
        cost: CEL cost units spent until then, once known.
    """

    def __init__(self, message: str | Callable[[], str]) -> None:
        super().__init__()
        # Most errors are absorbed, and a text may take long to build.
        self._message = message
        self.cost = 0

    @property
    def message(self) -> str:
        """Return the text without any prefix."""
        if not isinstance(self._message, str):
            self._message = self._message()
        return self._message

    def __str__(self) -> str:
        return self.message


class OperationError(EvaluationError):
    """An operation of the expression that failed; `&&`, `||` and macros absorb it."""


class EvaluationAborted(EvaluationError):  # noqa: N818 — not an error of the expression
    """An error that ends the whole evaluation.

    It is never absorbed. cel-go itself fails on some calls, such as sorting an int:
    `internal error: interface conversion: ..`.
    """


class CostLimitExceeded(EvaluationAborted):
    """An evaluation that exceeded its cost limit."""

    def __init__(self, message: str = "operation cancelled: actual cost limit exceeded") -> None:
        super().__init__(message)


class StepBudgetExceeded(CostLimitExceeded):
    """An evaluation that used up the plain step budget shared by several evaluations."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: step budget exceeded")


class FieldErrorType:
    """The error types of the API machinery that validation rules can produce."""

    INVALID = "FieldValueInvalid"
    FORBIDDEN = "FieldValueForbidden"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One finding of a rule, like the API server's `field.Error`."""

    type: str  # One of `FieldErrorType`
    field: str  # Dotted path of the value, such as `spec.ports[0].name` or `spec.labels[k]`.
    detail: str  # Text for the user; empty for duplicates
