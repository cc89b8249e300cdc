"""Names sort as people count."""

from dragoman_base.words import natural


def test_numbers_sort_as_numbers() -> None:
    names = ["node-10", "node-2", "b", "node-1", "a9z", "a10", "", "node"]
    expected = ["", "a9z", "a10", "b", "node", "node-1", "node-2", "node-10"]
    assert sorted(names, key=natural) == expected


def test_a_name_of_many_digits_is_no_obstacle() -> None:
    assert sorted(["9" * 10_000, "1"], key=natural) == ["1", "9" * 10_000]


def test_what_looks_like_a_number_and_is_none_is_text() -> None:
    assert sorted(["n²", "n10", "n٣"], key=natural) == ["n10", "n²", "n٣"]
