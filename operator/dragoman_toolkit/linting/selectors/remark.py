"""What is wrong with a selector, before it is known where the selector stands."""

from dataclasses import dataclass

INVALID = "dra/cel-invalid"
UNGUARDED = "dra/cel-unguarded"
UNKNOWN = "dra/attribute-unknown"
MIXED = "dra/attribute-is-capacity"
TYPE = "dra/attribute-type"
NEVER = "dra/never-matches"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is wrong with one selector, wherever it stands.

    Attributes:
        id: The rule.
        message: Without the path.
        suggestion: What to write instead.
        index: Number of the selector.
        offset: Line and column in the expression, from 0.
    """

    id: str
    message: str
    suggestion: str = ""
    index: int = 0
    offset: tuple[int, int] = (0, 0)
