"""Regular expressions of Go's `regexp`, on RE2: linear time for every pattern and text."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import re2

from dragoman_cel.budget import compiling
from dragoman_cel.errors import OperationError

_CACHED = 32
"""Patterns that are kept although nothing uses them any more, each of at most `SMALL_MEMORY`."""
_CACHED_LENGTH = 4096
"""Characters of such a pattern: a longer one goes with its expression."""
_REMEMBERED = 256
"""Cached results per pattern; devices and objects repeat the same few short texts."""
_REMEMBERED_LENGTH = 128

_CACHED_LARGE = 8
"""Number of cached patterns that need more than `SMALL_MEMORY`."""

SMALL_MEMORY = 128 * 1024
"""Bytes that a usual pattern may take: RE2 fills all of them with states as it meets new texts."""
_MEMORY = 2 * 1024 * 1024
"""Bytes that a pattern may take; Go allows about fifty times as much. It bounds compilation to
some ten milliseconds, since repeated Unicode classes grow large: `\\pL{1000}` is an error here."""
STEPS_PER_MATCH = 5
"""Plain steps of a search, however short the text is."""
_MATCHES_MAX = 200_000
"""Matches that `find_all` collects at most: a quarter of a second."""
_INSTRUCTIONS_PER_STEP = 2
_STEPS_PER_CLASS = 1_000
"""Plain steps of a Unicode class: a table of hundreds of ranges."""
_CHARACTERS_PER_STEP = 8
_FAILED_STEPS = 60_000
_FAILED_SMALL_STEPS = 2_000
_WORK_PER_STEP = 6_000
"""Instructions times bytes of a microsecond in the slowest kind of matching."""
_LEAST_SIZE = 30
"""Instructions of the smallest pattern that takes longer than smaller ones."""
_WIDEST = 4
"""Bytes of a code point that is not ASCII, at most."""

_ANCHOR = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001 — the wrapper above it is nine times slower
_NO_MATCH = -1

_WORDS = {
    "unexpected error": "regexp/syntax: internal error",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Go's texts of RE2's errors, where they differ."""
_RE2_ERROR = re.compile(
    r"(unexpected error|invalid escape sequence|invalid character class range"
    r"|invalid character class|missing \]|missing \)|unexpected \)|trailing \\"
    r"|no argument for repetition operator|invalid repetition size|bad repetition operator"
    r"|invalid perl operator|invalid UTF-8|invalid named capture group)(?:: (.*))?",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|[^\\]+", re.DOTALL)


def _options(memory: int, *, groups: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not groups
    options.max_mem = memory
    return options


class Regex:
    """A compiled pattern.

    Attributes:
        pattern: Its text.
        steps: Plain steps of its compilation, about a microsecond each.
    """

    __slots__ = ("__weakref__", "_answers", "_match", "_size", "pattern", "steps")

    def __init__(self, pattern: str, compiled: Any) -> None:
        self.pattern = pattern
        self._size = _LEAST_SIZE + int(compiled.ProgramSize())
        self.steps = compile_steps(pattern, int(compiled.ProgramSize()))
        self._match = compiled.Match
        self._answers: dict[str, bool] = {}

    def matches(self, text: str) -> bool:
        """Return whether a text contains a match anywhere."""
        answer = self._answers.get(text)
        return self._ask(text) if answer is None else answer

    def match_steps(self, text: str) -> int:
        """Return the plain steps of a match in the worst case; mostly 0."""
        length = len(text) if text.isascii() else _WIDEST * len(text)
        return length * self._size // _WORK_PER_STEP

    def find(self, text: str) -> str:
        """Return the first match, "" without one."""
        data = _encoded(text)
        start, end = self._span(data, 0)
        return "" if start == _NO_MATCH else _decoded(data[start:end])

    def find_all(
        self, text: str, limit: int = -1, *, pay: Callable[[int], None] = lambda _: None
    ) -> list[str]:
        """Return the successive matches, at most `limit` of them unless that is negative.

        Args:
            text: Where to look.
            limit: Most matches.
            pay: Deducts plain steps before each search.
        """
        data = _encoded(text)
        found: list[str] = []
        position, previous_end = 0, -1
        while position <= len(data) and (limit < 0 or len(found) < limit):
            # A search can read the whole rest of the text, as in Go.
            pay(STEPS_PER_MATCH + (len(data) - position) * self._size // _WORK_PER_STEP)
            start, end = self._span(data, position)
            if start == _NO_MATCH:
                break
            # An empty match right behind the previous match does not count.
            if not start == end == previous_end:
                found.append(_decoded(data[start:end]))
            if len(found) > _MATCHES_MAX:
                raise OperationError("operation cancelled: too many matches")
            previous_end = end
            position = _after_character(data, position) if end == position else end
        return found

    def _ask(self, text: str) -> bool:
        data = _encoded(text)
        answer = bool(self._match(_ANCHOR, data, 0, len(data))[0][0] != _NO_MATCH)
        if len(text) <= _REMEMBERED_LENGTH:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            self._answers[text] = answer
        return answer

    def _span(self, data: bytes, position: int) -> tuple[int, int]:
        span: tuple[int, int] = self._match(_ANCHOR, data, position, len(data))[0]
        return span


def compile_regex(pattern: str) -> Regex:
    """Compile a pattern, or return the cached one.

    Within `budget.compiling` a cached pattern costs the same as a new one, so that the outcome
    does not depend on earlier calls.

    Raises:
        OperationError: `error parsing regexp: ..` with Go's text.
        StepBudgetExceeded: Earlier patterns used up `budget.compiling`.
    """
    limits = compiling.get()
    if limits is None:
        return _small(pattern) or _large(pattern)
    limits.check()
    try:
        regex = _small(pattern)
    except OperationError:
        limits.spend(failed_small_steps(pattern))
        raise
    if regex is None:
        limits.too_large.add(pattern)
        limits.spend(failed_small_steps(pattern))
        raise OperationError(_text("expression too large", pattern))
    limits.spend(regex.steps)
    limits.patterns.add(pattern)
    return regex


def _small(pattern: str) -> Regex | None:
    """Return a pattern of at most `SMALL_MEMORY`, None where it needs more."""
    used = _USED.get(pattern)
    if used is not None:
        return used
    kept = len(pattern) <= _CACHED_LENGTH
    regex = (_compiled_small if kept else _compiled_small.__wrapped__)(pattern)
    if regex is not None:
        _USED[pattern] = regex
    return regex


def _large(pattern: str) -> Regex:
    kept = len(pattern) <= _CACHED_LENGTH
    return (_compiled_large if kept else _compiled_large.__wrapped__)(pattern)


_USED: WeakValueDictionary[str, Regex] = WeakValueDictionary()
"""The patterns of all compiled expressions: equal ones are compiled once, and go with them."""


@lru_cache(maxsize=_CACHED)
def _compiled_small(pattern: str) -> Regex | None:
    return _compiled(pattern, SMALL_MEMORY)


@lru_cache(maxsize=_CACHED_LARGE)
def _compiled_large(pattern: str) -> Regex:
    regex = _compiled(pattern, _MEMORY)
    if regex is None:
        raise OperationError(_text("expression too large", pattern))
    return regex


def _compiled(pattern: str, memory: int) -> Regex | None:
    """Compile a pattern; None where RE2 needs more memory than that."""
    # Without groups a match is cheaper, but their names must be checked once.
    named = "(?P<" in pattern or "(?<" in pattern
    options = _options(memory, groups=named)
    compiled = re2._re2.RE2(_encoded(pattern), options)  # noqa: SLF001 — see _ANCHOR
    if not compiled.ok():
        error = _error(_decoded(compiled.error()))
        if error is None:
            return None
        raise OperationError(error)
    # RE2 accepts `\C`, a single byte; Go does not.
    if "\\C" in pattern and "\\C" in _TOKEN.findall(pattern):
        raise OperationError(_text("invalid escape sequence", "\\C"))
    # RE2 accepts letters of any script in a name, Go only ASCII.
    for name, _ in compiled.NamedCapturingGroups() if named else ():
        if not name.isascii():
            part = f"(?P<{_decoded(name)}>"
            shown = part if part in pattern else part.replace("P", "", 1)
            raise OperationError(_text("invalid named capture", shown))
    return Regex(pattern, compiled)


def compile_steps(pattern: str, size: int) -> int:
    """Return the plain steps of a pattern's compilation.

    Args:
        pattern: Its text.
        size: Its program in RE2's instructions.
    """
    parsing = len(pattern) // _CHARACTERS_PER_STEP
    return 1 + parsing + size // _INSTRUCTIONS_PER_STEP + _class_steps(pattern)


def failed_steps(pattern: str) -> int:
    """Return the plain steps of a pattern that does not compile."""
    return _FAILED_STEPS + _class_steps(pattern)


def failed_small_steps(pattern: str) -> int:
    """Return the plain steps of a pattern that fails within `SMALL_MEMORY`."""
    return _FAILED_SMALL_STEPS + len(pattern) // 4 + _class_steps(pattern)


def _class_steps(pattern: str) -> int:
    return _STEPS_PER_CLASS * (pattern.count("\\p") + pattern.count("\\P"))


def _error(error: str) -> str | None:
    """Translate an error of RE2 into the text of Go; None for one about memory."""
    match = _RE2_ERROR.fullmatch(error)
    if match is None:
        return None
    return _text(_WORDS.get(match[1], match[1]), match[2] or "")


def _text(problem: str, part: str) -> str:
    return f"error parsing regexp: {problem}: `{part}`"


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _decoded(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode(errors="replace")


def _after_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position
