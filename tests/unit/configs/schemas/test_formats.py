"""Formats accept and refuse what the API server's do."""

import pytest

from dragoman_configs.schemas import formats
from tests.support.worlds.formats import BAD, GOOD


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in GOOD for text in GOOD[name]])
def test_a_text_of_the_format_is_accepted(name: str, text: str) -> None:
    check = formats.check_of(name)
    assert check
    assert check(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BAD for text in BAD[name]])
def test_another_text_is_refused(name: str, text: str) -> None:
    check = formats.check_of(name)
    assert check
    assert not check(text)


def test_every_format_is_in_the_tables() -> None:
    tested = {name.replace("-", "") for name in GOOD}
    assert formats.CHECKS.keys() - tested == {"isbn10", "isbn13", "uuid3", "uuid5"}


@pytest.mark.parametrize("name", sorted(formats.CHECKS))
@pytest.mark.parametrize(
    "text",
    ["\ud800", "\0", "9" * 100_000, "é" * 10_000],
    ids=["half a pair", "NUL", "digits", "letters"],
)
def test_no_text_breaks_a_format(name: str, text: str) -> None:
    check = formats.check_of(name)
    assert check
    assert check(text) in (True, False)


def test_an_unknown_format_has_no_check() -> None:
    assert formats.check_of("ipaddress") is None
