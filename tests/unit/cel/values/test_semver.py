"""Semantic versions: what blang/semver and Kubernetes' normalisation answer."""

import itertools

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.semver import is_semver, parse_semver

ORDERED = [
    "0.0.1-0",
    "0.0.1-1",
    "0.0.1-10",
    "0.0.1--",
    "0.0.1-A",
    "0.0.1-a",
    "0.0.1-a.1",
    "0.0.1-a.b",
    "0.0.1-rc.1",
    "0.0.1",
    "0.1.0",
    "1.0.0",
    "9.0.0",
    "10.0.0",
]


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise(ORDERED)))
def test_precedence_follows_semver_two(lower: str, higher: str) -> None:
    assert parse_semver(lower).compare(parse_semver(higher)) == -1
    assert parse_semver(higher).compare(parse_semver(lower)) == 1


def test_build_metadata_never_counts() -> None:
    assert parse_semver("1.0.0+a") == parse_semver("1.0.0+b")
    assert str(parse_semver("1.0.0-rc+b.1")) == "1.0.0-rc+b.1"


def test_numbers_wrap_to_int64() -> None:
    version = parse_semver("18446744073709551615.9223372036854775808.9223372036854775807")
    assert (version.major, version.minor, version.patch) == (-1, -(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("1.2.x", 'Invalid character(s) found in patch number "x"'),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+é", 'Invalid character(s) found in build meta data "é"'),
        ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
        (
            "99999999999999999999.0.0",
            'strconv.ParseUint: parsing "99999999999999999999": value out of range',
        ),
    ],
)
def test_what_is_no_version_is_refused_in_blangs_words(text: str, message: str) -> None:
    assert not is_semver(text)
    with pytest.raises(EvaluationError) as caught:
        parse_semver(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("v1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("01.002.0003", "1.2.3"),
        ("v00.0.0", "0.0.0"),
        ("1.2.03-rc1", "1.2.3-rc1"),
    ],
)
def test_normalising_pads_and_strips(text: str, normalized: str) -> None:
    assert str(parse_semver(text, normalize=True)) == normalized


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.0-alpha", "short version cannot contain PreRelease/Build meta data"),
        ("1+b", "short version cannot contain PreRelease/Build meta data"),
        ("vv1", 'Invalid character(s) found in major number "0v1"'),
        (" 1.0.0", 'Invalid character(s) found in major number "0 1"'),
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
    ],
)
def test_normalising_forgives_no_more_than_that(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_semver(text, normalize=True)
    assert caught.value.message == message
