"""The page of the checks is what the code makes."""

from docs import generate_checks


def test_the_page_of_checks_is_renewed() -> None:
    assert generate_checks.PAGE.read_text() == generate_checks.page(), "run: make pages"
