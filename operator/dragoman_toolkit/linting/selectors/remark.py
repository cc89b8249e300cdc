"""What is wrong with a selector, before it is known where the selector stands."""

from dataclasses import dataclass

from dragoman_toolkit.linting.selectors.expressiontext import Change

INVALID = "dra/cel-invalid"
UNGUARDED = "dra/cel-unguarded"
UNKNOWN = "dra/attribute-unknown"
MIXED = "dra/attribute-is-capacity"
TYPE = "dra/attribute-type"
NEVER = "dra/never-matches"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is wrong with one selector, wherever it stands."""

    id: str  # The rule
    message: str  # Without the path
    suggestion: str = ""  # What to write instead
    index: int = 0  # Number of the selector
    offset: tuple[int, int] = (0, 0)  # Line and column in the expression, from 0
    # What to write instead, where exactly one thing can be meant
    changes: tuple[Change, ...] = ()
    severity: str = ""  # Where it differs from the rule's own
