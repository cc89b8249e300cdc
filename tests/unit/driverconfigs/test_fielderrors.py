"""Field errors are short, and safe to print."""

from __future__ import annotations

from tests.unit.driverconfigs.worlds import messages

STRING = {"type": "string"}


def test_a_long_value_is_shortened() -> None:
    [message] = messages({**STRING, "enum": ["a"]}, '"' + "x" * 5000 + '"')
    assert len(message) < 150
    assert "xxx…" in message


def test_what_breaks_a_terminal_is_escaped() -> None:
    [message] = messages({**STRING, "enum": ["a"]}, '"\\u001b[31m\\n"')
    assert message.startswith(r'.v: Unsupported value: "\x1b[31m\n"')
