"""IP addresses and networks: what net/netip answers, and what Kubernetes refuses."""

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.ipparser import is_canonical_ip, is_cidr, is_ip, parse_cidr, parse_ip


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:DB8::0001", "2001:db8::1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("::", "::"),
        ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
    ],
)
def test_addresses_print_canonically(text: str, printed: str) -> None:
    assert str(parse_ip(text)) == printed
    assert is_canonical_ip(text) == (text == printed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("1.2.3", 'ParseAddr("1.2.3"): IPv4 address too short'),
        ("1.2.3.4.5", 'ParseAddr("1.2.3.4.5"): IPv4 address too long'),
        ("01.2.3.4", 'ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero'),
        ("256.1.1.1", 'ParseAddr("256.1.1.1"): IPv4 field has value >255'),
        ("1..2.3", 'ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.x", 'ParseAddr("1.2.3.x"): unexpected character (at "x")'),
        ("::1::2", 'ParseAddr("::1::2"): multiple :: in address (at ":2")'),
        ("1:2", 'ParseAddr("1:2"): address string too short'),
        ("12345::", 'ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")'),
        ("1:2:3:4:5:6:7:8:9", "trailing garbage after address"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1:2:", "colon must be followed by more characters"),
        ("%1", 'ParseAddr("%1"): missing IPv6 address'),
        ("::%", 'ParseAddr("::%"): zone must be a non-empty string'),
        ("x", 'ParseAddr("x"): unable to parse IP'),
        ("", 'ParseAddr(""): unable to parse IP'),
    ],
)
def test_what_is_no_address_is_refused(text: str, message: str) -> None:
    assert not is_ip(text)
    with pytest.raises(EvaluationError) as caught:
        parse_ip(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("0.0.0.0", {"unspecified"}),
        ("::", {"unspecified"}),
        ("127.8.8.8", {"loopback"}),
        ("::1", {"loopback"}),
        ("224.0.0.9", {"link-local multicast"}),
        ("ff12::1", {"link-local multicast"}),
        ("169.254.1.1", {"link-local unicast"}),
        ("febf::1", {"link-local unicast"}),
        ("224.0.1.1", set()),
        ("255.255.255.255", set()),
        ("10.0.0.1", {"global unicast"}),
        ("fc00::1", {"global unicast"}),
    ],
)
def test_kinds_of_addresses(text: str, kinds: set[str]) -> None:
    ip = parse_ip(text)
    answers = {
        "unspecified": ip.is_unspecified(),
        "loopback": ip.is_loopback(),
        "link-local multicast": ip.is_link_local_multicast(),
        "link-local unicast": ip.is_link_local_unicast(),
        "global unicast": ip.is_global_unicast(),
    }
    assert {kind for kind, answer in answers.items() if answer} == kinds


def test_families_and_sizes() -> None:
    assert (parse_ip("1.2.3.4").family, parse_ip("1.2.3.4").size) == (4, 4)
    assert (parse_ip("::1").family, parse_ip("::1").size) == (6, 16)
    assert [parse_cidr(text).size for text in ("0.0.0.0/0", "10.0.0.0/9", "::/128")] == [0, 2, 16]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "netip.ParsePrefix(\"10.0.0.0\"): no '/'"),
        ("10.0.0.0/33", 'netip.ParsePrefix("10.0.0.0/33"): prefix length out of range'),
        ("10.0.0.0/08", 'netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"'),
        ("10.0.0.0/", 'netip.ParsePrefix("10.0.0.0/"): bad bits after slash: ""'),
        ("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("::ffff:1.2.3.4/96", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/96" is not allowed'),
        ("x/8", 'netip.ParsePrefix("x/8"): ParseAddr("x"): unable to parse IP'),
    ],
)
def test_what_is_no_network_is_refused(text: str, message: str) -> None:
    assert not is_cidr(text)
    with pytest.raises(EvaluationError) as caught:
        parse_cidr(text)
    assert caught.value.message.startswith("network address parse error during conversion")
    assert message in caught.value.message


def test_host_bits_stay_until_they_are_masked() -> None:
    network = parse_cidr("10.1.2.3/8")
    assert str(network.ip) == "10.1.2.3"
    assert network != network.masked()
    assert network.masked() == parse_cidr("10.0.0.0/8")


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("10.1.2.3/8", "10.255.0.1", "11.0.0.1"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("fe80::/10", "febf::1", "10.0.0.1"),
    ],
)
def test_networks_contain_addresses_of_their_family(
    network: str, inside: str, outside: str
) -> None:
    assert parse_cidr(network).contains_ip(parse_ip(inside))
    assert not parse_cidr(network).contains_ip(parse_ip(outside))


def test_networks_contain_smaller_networks_only() -> None:
    outer, inner = parse_cidr("10.0.0.0/8"), parse_cidr("10.1.0.0/16")
    assert outer.contains_cidr(inner)
    assert outer.contains_cidr(outer)
    assert not inner.contains_cidr(outer)
    assert not outer.contains_cidr(parse_cidr("::/16"))
