"""The way through a proxy: what is said to it before the server is reached (`proxy-url`).

Each way is a generator without sockets: it yields what to send, is sent what has arrived, and
returns what arrived behind the proxy's answer. As in client-go, the proxy may speak http, https or
socks5, and a URL's user and password are for the proxy.
"""

import struct
from base64 import b64encode
from collections.abc import Callable, Generator
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

Negotiation: TypeAlias = Generator[bytes, bytes, bytes]
Account: TypeAlias = tuple[str, str] | None

PORTS = {"http": 80, "https": 443, "socks5": 1080}
"""Schemes of `proxy-url` (client-go, tools/clientcmd/helpers.go) and their default ports."""
ANSWER_LIMIT = 1 << 14
"""Bytes that the head of a proxy's answer may have."""
_SOCKS_ERRORS = (
    "it has no connection to give",
    "its rules forbid this server",
    "network unreachable",
    "host unreachable",
    "connection refused",
    "time to live expired",
    "it cannot connect",
    "it does not know this kind of address",
)
"""What replies 1 to 8 mean (RFC 1928, section 6)."""


class ProxyError(OSError):
    """A proxy does not let a connection through; the message names no credentials."""


class Proxy(NamedTuple):
    """A proxy, and how it is asked for a connection."""

    scheme: str  # One of PORTS
    host: str
    port: int
    account: Account  # User and password, None without a user
    # Asks for a connection to this host and port
    negotiate: Callable[[str, int], Negotiation]


def proxy_of(url: str) -> Proxy:
    """Return the proxy of a URL.

    Raises:
        ValueError: The URL has no host, or a scheme that is not in PORTS.
    """
    expected = "expected a URL with a host, such as http://proxy.example.com:3128"
    try:
        parts = urlsplit(url)
    except ValueError:  # quotes the URL, which may have a password
        raise ValueError(expected) from None
    if parts.scheme not in PORTS:
        schemes = "http, https, or socks5"
        raise ValueError(f'unsupported scheme "{parts.scheme}", must be {schemes}')
    try:
        port = parts.port or PORTS[parts.scheme]
    except ValueError:
        port = 0
    if not parts.hostname or not port:
        raise ValueError(expected)
    way = _socks if parts.scheme == "socks5" else _connect

    account = None
    if parts.username is not None:
        account = unquote(parts.username), unquote(parts.password or "")

    def negotiate(host: str, port: int) -> Negotiation:
        return way(_name(parts), account, host, port)

    return Proxy(parts.scheme, parts.hostname, port, account, negotiate)


def _name(proxy: SplitResult) -> str:
    return f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"


def _connect(proxy: str, account: Account, host: str, port: int) -> Negotiation:
    """Ask by CONNECT (RFC 9110, section 9.3.6)."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
    if account is not None:
        login = b64encode(":".join(account).encode()).decode()
        head += f"Proxy-Authorization: Basic {login}\r\n"
    received = yield head.encode() + b"\r\n"
    while b"\r\n\r\n" not in received:
        if len(received) > ANSWER_LIMIT:
            raise ProxyError(f"proxy {proxy}: expected an answer to CONNECT of HTTP")
        received += yield b""
    answer, _, rest = received.partition(b"\r\n\r\n")
    version, _, status = answer.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    if not version.startswith("HTTP/1."):
        raise ProxyError(f"proxy {proxy}: expected an answer to CONNECT of HTTP")
    if not status.startswith("2"):
        raise ProxyError(f"proxy {proxy} rejects a connection to {target}: {status[:100]}")
    return rest


def _socks(proxy: str, account: Account, host: str, port: int) -> Negotiation:
    """Ask by SOCKS 5; as in client-go, the proxy resolves the name (RFC 1928, RFC 1929)."""
    user, password = (one.encode() for one in account or ("", ""))
    received = yield b"\x05\x02\x00\x02" if user else b"\x05\x01\x00"
    received = yield from _more(proxy, received, 2)
    method, received = received[1], received[2:]
    if method == 2 and user:
        received += yield b"\x01" + _counted(user) + _counted(password)
        received = yield from _more(proxy, received, 2, version=1)
        if received[1]:
            raise ProxyError(f"proxy {proxy} rejects its user and password")
        received = received[2:]
    elif method:
        wants = "another login than" if user else "user and password: put them into"
        raise ProxyError(f"proxy {proxy} wants {wants} proxy-url")
    received += yield b"\x05\x01\x00" + _address(host) + struct.pack("!H", port)
    received = yield from _more(proxy, received, 5)
    if reply := received[1]:
        text = _SOCKS_ERRORS[min(reply, len(_SOCKS_ERRORS)) - 1]
        raise ProxyError(f"proxy {proxy} rejects a connection to {host}:{port}: {text}")
    address = {1: 4, 3: 1 + received[4], 4: 16}.get(received[3], 0)
    received = yield from _more(proxy, received, 6 + address)
    return received[6 + address :]


def _more(
    proxy: str, received: bytes, count: int, version: int = 5
) -> Generator[bytes, bytes, bytes]:
    """Wait for so many bytes of a message of this version."""
    while len(received) < count:
        received += yield b""
    if received[0] != version:
        raise ProxyError(f"proxy {proxy}: expected an answer of SOCKS 5")
    return received


def _address(host: str) -> bytes:
    """Return a host as SOCKS 5 names it: addresses by number, as in client-go."""
    try:
        address = ip_address(host)
    except ValueError:
        try:
            return b"\x03" + _counted(host.encode("ascii" if host.isascii() else "idna"))
        except UnicodeError as error:
            raise ProxyError(f"{host} is no name of a host") from error
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


def _counted(text: bytes) -> bytes:
    if len(text) > 255:
        raise ProxyError("SOCKS 5 takes names and passwords of at most 255 bytes")
    return bytes([len(text)]) + text
