"""Formats accept and refuse what the API server's do."""

from __future__ import annotations

import pytest

from dragoman.driverconfigs.schemas import formats

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "byte": ["aGVsbG8=", "aGk="],
    "cidr": ["10.0.0.0/8", "10.1.2.3/32", "::/0", "2001:db8::1/128", "::ffff:1.2.3.4/96"],
    "creditcard": ["4111 1111 1111 1111"],
    "date": ["2024-02-29", "0001-01-01"],
    "date-time": [
        "2024-02-29T23:59:59Z",
        "2024-01-01t00:00:00.123456789z",
        "2024-01-01T00:00:00+14:00",
    ],
    "duration": ["0", "1h", "1.5h30m", "-2us", "300ms", "22 ns", "3 weeks", "1d", "2 Hours"],
    "email": ["a@b", "Somebody <a@b.org>"],
    "hexcolor": ["#FFF", "ffffff"],
    "hostname": ["localhost", "a-b.example", "1.example.org", "a" * 63 + ".org"],
    "ipv4": ["1.2.3.4", "255.255.255.255"],
    "ipv6": ["::", "2001:db8::1", "::ffff:1.2.3.4"],
    "isbn": ["0321751043", "978-0321751041"],
    "k8s-long-name": ["a.b", "a" * 253],
    "k8s-short-name": ["a", "a-b", "a" * 63],
    "mac": [
        "00:11:22:33:44:55",
        "001122334455",
        "00-11-22-33-44-55",
        "0011.2233.4455",
        "02:00:5e:10:00:00:00:01",
    ],
    "password": ["", "anything"],
    "quantity": ["0", "1", "-1.5", "1Ki", "100m", "1e3", "1E", "1E3", ".5", "5.", "12e-9"],
    "rgbcolor": ["rgb(255, 0, 10)"],
    "ssn": ["123-45-6789"],
    "uri": ["http://a/b", "/a", "urn:x"],
    "uuid": ["5f6b3f4e-2ea4-4b9e-8a15-5a1e8f0b1f0e", "5F6B3F4E2EA44B9E8A155A1E8F0B1F0E"],
    "uuid4": ["5f6b3f4e-2ea4-4b9e-8a15-5a1e8f0b1f0e"],
}

BAD = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
    "byte": ["", "a", "####", "aGVs\nbG8="],
    "cidr": [
        "10.0.0.0",
        "10.0.0.0/33",
        "10.0.0/8",
        "::/129",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/٣",
    ],
    "creditcard": ["4111 1111 1111 1112"],
    "date": ["2023-02-29", "2024-13-01", "24-01-01", "2024-01-01\n"],
    "date-time": [
        "2024-01-01",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00Z",
    ],
    "duration": ["", "1", "h", "1 parsec", "1.5"],
    "email": ["a", "@b", "a@"],
    "hexcolor": ["#FFFF", "red"],
    "hostname": ["", "-a", "a-.org", "a..b", "a.b1", "a" * 64 + ".org", "under_score.org"],
    "ipv4": ["1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4\n", "::1"],
    "ipv6": ["1.2.3.4", ":::", "fe80::1%eth0", "12345::"],
    "isbn": ["0321751044", "978-0321751042"],
    "k8s-long-name": ["", "A.b", "a..b", "a" * 254],
    "k8s-short-name": ["", "-a", "a.b", "a" * 64],
    "mac": ["00:11:22:33:44", "00:11:22:33:44:5g", "00-11:22:33:44:55", "00112233445"],
    "quantity": ["", "1 Gi", "1GB", "Ki", "1Kii", "--1", "1e", "."],
    "rgbcolor": ["rgb(256, 0, 0)"],
    "ssn": ["12-345-6789"],
    "uri": ["a b", "relative"],
    "uuid": ["5f6b3f4e-2ea4-4b9e-8a15-5a1e8f0b1f0"],
    "uuid4": ["5f6b3f4e-2ea4-1b9e-8a15-5a1e8f0b1f0e"],
}


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
