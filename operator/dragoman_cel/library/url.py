"""URLs in expressions."""

from dragoman_cel.state import Functions, State, paced, spend_steps
from dragoman_cel.values.url import URL, is_url, parse_url

_READ_PER_STEP = 64
"""Code points of a host that a plain step parses."""


def _hostname(state: State, url: URL) -> str:
    spend_steps(state, len(url.host) // _READ_PER_STEP)
    return url.hostname


def _port(state: State, url: URL) -> str:
    spend_steps(state, len(url.host) // _READ_PER_STEP)
    return url.port


def _query(state: State, url: URL) -> dict[str, list[str]]:
    spend_steps(state, len(url.raw_query))
    return url.query()


OVERLOADS: Functions = {
    "url_get_scheme": lambda url: url.scheme,
    "url_get_host": lambda url: url.host,
    "url_get_escaped_path": lambda url: url.escaped_path,
}
STATEFUL: Functions = {
    **paced(1, {"string_to_url": parse_url, "is_url_string": is_url}, call=4),
    "url_get_hostname": _hostname,
    "url_get_port": _port,
    "url_get_query": _query,
}
