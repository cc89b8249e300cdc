import pytest

from dragoman_base.words import counted, listed


@pytest.mark.parametrize(("number", "text"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_a_number_stands_with_its_noun(number: int, text: str) -> None:
    assert counted(number, "pod") == text


@pytest.mark.parametrize(
    ("names", "text"), [((), ""), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")]
)
def test_long_lists_are_shortened(names: tuple[str, ...], text: str) -> None:
    assert listed(names, 2) == text
