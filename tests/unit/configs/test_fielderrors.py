"""Field errors are short, and safe to print."""

import pytest

from dragoman_base.files.unreadable import InvalidText, OutOfRangeNumber
from dragoman_configs import fielderrors
from dragoman_configs.fielderrors import ConfigFieldError
from tests.support.worlds.driverconfigs import messages

STRING = {"type": "string"}


def test_a_long_value_is_shortened() -> None:
    [message] = messages({**STRING, "enum": ["a"]}, '"' + "x" * 5000 + '"')
    assert len(message) < 150
    assert "xxx…" in message


def test_what_breaks_a_terminal_is_escaped() -> None:
    [message] = messages({**STRING, "enum": ["a"]}, '"\\u001b[31m\\n"')
    assert message.startswith(r'.v: Unsupported value: "\x1b[31m\n"')


def test_a_path_is_written_as_the_api_machinery_writes_it() -> None:
    path: list[str | int] = ["spec", "config", 0, "labels", "a.b/c", "x" * 100, "line\nbreak"]
    assert fielderrors.render(path) == (f".spec.config[0].labels[a.b/c][{'x' * 63}…][line\\nbreak]")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": 1}, "an object"),
        ([1], "an array"),
        (None, "null"),
        (1.0, "1.0"),
        (2**64, "an integer beyond 64 bits"),
        (OutOfRangeNumber("1e999"), "1e999"),
        (InvalidText("a\x1b"), "a\\x1b"),
    ],
)
def test_a_value_is_shown_on_one_line(value: object, shown: str) -> None:
    error = fielderrors.field_error(["v"], fielderrors.INVALID, "wrong", value)
    assert str(error) == f".v: Invalid value: {shown}: wrong"


def test_a_redacted_error_shows_no_value() -> None:
    error = ConfigFieldError(
        ".v", fielderrors.INVALID, "is not secret", '"secret"', "breaks a rule"
    )
    assert str(error.redacted().under("spec")) == "spec.v: Invalid value: breaks a rule"
