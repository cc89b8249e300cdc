"""URLs: what net/url answers."""

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.url import is_url, parse_url


def test_the_parts_of_a_full_url() -> None:
    url = parse_url("HTTPS://user:p%20w@example.com:8080/a/b%2Fc d?x=1&y=%41+b&x=2&;&%zz#frag")
    assert (url.scheme, url.host, url.hostname, url.port) == (
        "https",
        "example.com:8080",
        "example.com",
        "8080",
    )
    assert url.query() == {"x": ["1", "2"], "y": ["A b"]}


@pytest.mark.parametrize(
    ("text", "host", "hostname", "port", "path"),
    [
        ("http://[::1]:80/", "[::1]:80", "::1", "80", "/"),
        ("http://[fe80::1%25en0]/", "[fe80::1%en0]", "fe80::1%en0", "", "/"),
        ("/path/a b", "", "", "", "/path/a%20b"),
        ("/a%2Fb", "", "", "", "/a%2Fb"),
        ("http://h/(!)*'[x]", "h", "h", "", "/(!)*'[x]"),
        ("http://h/(!) x", "h", "h", "", "/%28%21%29%20x"),
        ("mailto:x@y", "", "", "", ""),
        ("http://", "", "", "", ""),
        ("*", "", "", "", "*"),
        ("http://é.com/é", "é.com", "é.com", "", "/%C3%A9"),
    ],
)
def test_hosts_and_paths(text: str, host: str, hostname: str, port: str, path: str) -> None:
    url = parse_url(text)
    assert (url.host, url.hostname, url.port, url.escaped_path) == (host, hostname, port, path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", 'parse "": empty url'),
        ("rel", 'parse "rel": invalid URI for request'),
        (":x", 'parse ":x": missing protocol scheme'),
        ("http://a\n", 'parse "http://a\\n": net/url: invalid control character in URL'),
        ("http://a/%zz", 'parse "http://a/%zz": invalid URL escape "%zz"'),
        ("http://ex%41.com", 'parse "http://ex%41.com": invalid URL escape "%41"'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("http://a:x/", 'parse "http://a:x/": invalid port ":x" after host'),
        ("http://a:1:2/", 'parse "http://a:1:2/": invalid port ":1:2" after host'),
        ("http://[::1/", "parse \"http://[::1/\": missing ']' in host"),
        ("http://[1.2.3.4]/", 'parse "http://[1.2.3.4]/": invalid IP-literal'),
        ("http://u[@h/", 'parse "http://u[@h/": net/url: invalid userinfo'),
        ("/?x#%zz", 'parse "/?x#%zz": invalid URL escape "%zz"'),
    ],
)
def test_what_is_no_url_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_url(text)
    assert caught.value.message == f"URL parse error during conversion from string: {complaint}"


def test_what_is_a_url_is_decided_before_the_fragment() -> None:
    assert is_url("/?x#%zz")
    assert not is_url("rel")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("HTTP://H:?", "http://H:?"),
        ("http:/p", "http:/p"),
        ("http:///p", "http:///p"),
        ("mailto:", "mailto:"),
        ("http://@h/#", "http://@h/"),
        ("//h/p?q#a b", "//h/p?q#a%20b"),
    ],
)
def test_urls_are_equal_when_they_print_equal(text: str, printed: str) -> None:
    assert str(parse_url(text)) == printed
    assert parse_url(text) == parse_url(printed)


def test_a_query_of_too_many_parameters_is_dropped() -> None:
    assert len(parse_url("/?" + "&".join(f"a{n}=1" for n in range(10_000))).query()) == 10_000
    assert parse_url("/?" + "&".join(f"a{n}=1" for n in range(10_001))).query() == {}
