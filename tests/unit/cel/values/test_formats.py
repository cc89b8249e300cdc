"""Named formats: what apimachinery says about a text."""

import pytest

from dragoman_cel.values.formats import FORMATS

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns1123Label", "my-name"),
        ("dns1123LabelPrefix", "my-name-"),
        ("dns1123Subdomain", "a.b-c.d"),
        ("dns1123SubdomainPrefix", "a.b-"),
        ("dns1035Label", "abc-123"),
        ("dns1035LabelPrefix", "abc-"),
        ("qualifiedName", "example.com/My.Name"),
        ("labelValue", ""),
        ("labelValue", "a_B.c"),
        ("uri", "mailto:x@y"),
        ("uuid", "123E4567e89b12d3-a456426614174000"),
        ("byte", "aGk="),
        ("date", "2024-02-29"),
        ("datetime", "2024-02-29t23:59:59.5+01:00"),
    ],
)
def test_valid_texts_have_no_complaint(name: str, text: str) -> None:
    assert FORMATS[name].validate(text) == []


@pytest.mark.parametrize(
    ("name", "text", "complaints"),
    [
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "A", [LABEL]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123LabelPrefix", "-", [LABEL]),
        ("qualifiedName", "", ["name part must be non-empty", NAME]),
        ("qualifiedName", "/a", ["prefix part must be non-empty"]),
        ("qualifiedName", "a" * 64, ["name part must be no more than 63 bytes"]),
        ("labelValue", "a" * 64, ["must be no more than 63 bytes"]),
        ("uri", "rel", ['parse "rel": invalid URI for request']),
        ("uuid", "123", ["does not match the UUID format"]),
        ("byte", "", ["invalid base64"]),
        ("byte", "a===", ["invalid base64"]),
        ("date", "2023-02-29", ["invalid date"]),
        ("datetime", "2024-01-01T24:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-01-01", ["invalid datetime"]),
    ],
)
def test_complaints_are_apimachinerys(name: str, text: str, complaints: list[str]) -> None:
    assert FORMATS[name].validate(text) == complaints


def test_formats_are_equal_by_name() -> None:
    assert FORMATS["uuid"] == FORMATS["uuid"]
    assert FORMATS["date"] != FORMATS["datetime"]


def test_a_long_hostile_text_is_answered_at_once() -> None:
    for named in FORMATS.values():
        assert named.validate("a-" * 50_000 + "!")
