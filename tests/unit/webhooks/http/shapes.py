"""Requests as no well-behaved client writes them, by what is odd about them.

Each carries a review of an invalid config, so that `allowed: true` is always wrong. `ONE` shapes
are one request; how `TWO` shapes are to be split is open to doubt, and the second request in them
must never be answered.
"""

import gzip
from collections.abc import Mapping

from tests.support.worlds.reviews import BODY, DENIED, post

HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(DENIED)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SECOND = post(BODY)
"""A review of a valid config: its answer shows that a request was smuggled."""


def with_headers(*lines: bytes, body: bytes = DENIED) -> bytes:
    """Return a request with these further header lines, written literally."""
    return HEAD + b"".join(lines) + b"\r\n" + body


def with_line(line: bytes) -> bytes:
    """Return a request whose first line is this."""
    return line + HEAD[HEAD.index(b"\r\n") :] + LENGTH + b"\r\n" + DENIED


def chunk(size: bytes, data: bytes = DENIED, end: bytes = b"\r\n") -> bytes:
    """Return a body of one chunk whose size is written so."""
    return size + b"\r\n" + data + end + b"0\r\n\r\n"


SIZE = b"%x" % len(DENIED)

LENGTHS: Mapping[str, bytes] = {
    name: with_headers(b"Content-Length: " + value + b"\r\n")
    for name, value in {
        "plus": b"+%d" % len(DENIED),
        "minus": b"-1",
        "hexadecimal": b"0x%x" % len(DENIED),
        "empty": b"",
        "a list": b"%d, %d" % (len(DENIED), len(DENIED)),
        "a list of two": b"%d, 0" % len(DENIED),
        "a fraction": b"%d.0" % len(DENIED),
        "an exponent": b"1e3",
        "a word": b"many",
        "beyond 64 bits": b"18446744073709551616",
        "wraps to the length": b"%d" % (2**64 + len(DENIED)),
        "forty digits": b"9" * 40,
        "Arabic digits": "٣".encode(),
        "blanks inside": b"1 0",
        "NUL behind": b"%d\x00" % len(DENIED),
        "more than 8 MiB": b"99999999",
    }.items()
} | {
    "a blank before the colon": with_headers(b"Content-Length : %d\r\n" % len(DENIED)),
    "folded": with_headers(b"Content-Length:\r\n %d\r\n" % len(DENIED)),
    "twice the same": with_headers(LENGTH, LENGTH),
    "two lengths": with_headers(LENGTH, b"Content-Length: 0\r\n"),
    "an underscore": with_headers(b"Content_Length: %d\r\n" % len(DENIED)),
}

ENCODINGS: Mapping[str, bytes] = {
    name: with_headers(b"Transfer-Encoding: " + value + b"\r\n", body=chunk(SIZE))
    for name, value in {
        "a prefix": b"xchunked",
        "a suffix": b"chunkedx",
        "chunked and then identity": b"chunked, identity",
        "identity": b"identity",
        "twice chunked": b"chunked, chunked",
        "gzip and chunked": b"gzip, chunked",
        "vertical tab": b"\x0bchunked",
        "NUL": b"chunked\x00",
        "quoted": b'"chunked"',
        "a parameter": b"chunked;q=1",
        "empty": b"",
        "a comma first": b",chunked",
        "a letter that looks alike": "chunk\u0435d".encode(),
    }.items()
} | {
    "two headers": with_headers(CHUNKED, b"Transfer-Encoding: identity\r\n", body=chunk(SIZE)),
    "a blank before the colon": with_headers(b"Transfer-Encoding : chunked\r\n", body=chunk(SIZE)),
    "folded": with_headers(b"Transfer-Encoding:\r\n chunked\r\n", body=chunk(SIZE)),
    "of HTTP/1.0": with_headers(CHUNKED, body=chunk(SIZE)).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "with a length": with_headers(CHUNKED, LENGTH, body=chunk(SIZE)),
    "with a length of nothing": with_headers(b"Content-Length: 0\r\n", CHUNKED, body=chunk(SIZE)),
}

CHUNKS: Mapping[str, bytes] = {
    name: with_headers(CHUNKED, body=body)
    for name, body in {
        "0x": chunk(b"0x" + SIZE),
        "plus": chunk(b"+" + SIZE),
        "minus": chunk(b"-" + SIZE),
        "blank before": chunk(b" " + SIZE),
        "blank behind": chunk(SIZE + b" "),
        "empty size": chunk(b""),
        "a word": chunk(b"all"),
        "leading zeros": chunk(b"0" * 500 + SIZE),
        "wraps to the size": chunk(b"1" + SIZE.rjust(16, b"0")),
        "beyond 64 bits": chunk(b"f" * 17),
        "64 bits": chunk(b"f" * 16),
        "underscore": chunk(b"1_0"),
        "an extension": chunk(SIZE + b";a=b"),
        "a quoted extension": chunk(SIZE + b';a="\r\n0\r\n\r\n"'),
        "an extension with a line feed": chunk(SIZE + b";a\nb"),
        "no end of the chunk": chunk(SIZE, end=b""),
        "line feeds": SIZE + b"\n" + DENIED + b"\n0\n\n",
        "carriage returns": SIZE + b"\r" + DENIED + b"\r0\r\r",
        "too little": chunk(b"%x" % (len(DENIED) + 9)),
        "too much": chunk(b"%x" % (len(DENIED) - 9)),
        "never the last chunk": SIZE + b"\r\n" + DENIED + b"\r\n",
        "a length in the trailer": SIZE + b"\r\n" + DENIED + b"\r\n0\r\nContent-Length: 1\r\n\r\n",
        "an encoding in the trailer": (
            SIZE + b"\r\n" + DENIED + b"\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        "garbage in the trailer": SIZE + b"\r\n" + DENIED + b"\r\n0\r\n\x00\xff\r\n\r\n",
        "a byte each": b"".join(b"1\r\n%c\r\n" % byte for byte in DENIED) + b"0\r\n\r\n",
    }.items()
}

HEADERS: Mapping[str, bytes] = {
    name: with_headers(line, LENGTH)
    for name, line in {
        "no colon": b"header\r\n",
        "no name": b": value\r\n",
        "a blank in the name": b"a b: c\r\n",
        "a blank before the name": b" a: b\r\n",
        "NUL in the name": b"a\x00b: c\r\n",
        "NUL in the value": b"a: b\x00c\r\n",
        "a carriage return in the value": b"a: b\rc\r\n",
        "a line feed in the name": b"a\nb: c\r\n",
        "a line feed ends it": b"a: b\n",
        "only carriage returns": b"a: b\r",
        "folded": b"a: b\r\n c\r\n",
        "a byte beyond ASCII in the name": b"\xe4: b\r\n",
        "bytes beyond ASCII in the value": b"a: \xff\xfe\r\n",
        "a delete": b"a: \x7f\r\n",
        "a bell": b"a: \x07\r\n",
        "a very long name": b"a" * 60_000 + b": b\r\n",
        "a very long value": b"a: " + b"b" * 60_000 + b"\r\n",
        "a thousand of them": b"".join(b"a%d: b\r\n" % n for n in range(1000)),
        "five thousand of them": b"".join(b"a%d: b\r\n" % n for n in range(5000)),
        "a thousand of one name": b"a: b\r\n" * 1000,
        "a thousand expectations": b"Expect: 100-continue\r\n" * 1000,
        "another expectation": b"Expect: 200-ok\r\n",
        "two hosts": b"Host: y\r\n",
        "two content types": b"Content-Type: text/plain\r\n",
        "a gzip body that is none": b"Content-Encoding: gzip\r\n",
        "a range": b"Range: bytes=0-1\r\n",
        "another method": b"X-HTTP-Method-Override: GET\r\n",
        "another path": b"X-Original-URL: /livez\r\n",
        "an upgrade to HTTP/2": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n",
        "an upgrade to a socket": b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "a connection of many words": b"Connection: " + b"close, " * 500 + b"close\r\n",
        "a connection that drops the length": b"Connection: Content-Length\r\n",
    }.items()
}

LINES: Mapping[str, bytes] = {
    name: with_line(line)
    for name, line in {
        "another method": b"GET /validate HTTP/1.1",
        "HEAD with a body": b"HEAD /validate HTTP/1.1",
        "lower case": b"post /validate HTTP/1.1",
        "a method of its own": b"ALLOW /validate HTTP/1.1",
        "a long method": b"P" * 9000 + b" /validate HTTP/1.1",
        "a tab": b"POST\t/validate\tHTTP/1.1",
        "two blanks": b"POST  /validate  HTTP/1.1",
        "a blank behind": b"POST /validate HTTP/1.1 ",
        "a blank in the path": b"POST /val idate HTTP/1.1",
        "no path": b"POST HTTP/1.1",
        "a star": b"POST * HTTP/1.1",
        "a URL": b"POST http://x/validate HTTP/1.1",
        "a URL of another scheme": b"POST file:///validate HTTP/1.1",
        "a tunnel": b"CONNECT /validate HTTP/1.1",
        "a trace": b"TRACE /validate HTTP/1.1",
        "two slashes": b"POST //validate HTTP/1.1",
        "a slash behind": b"POST /validate/ HTTP/1.1",
        "dots": b"POST /x/../validate HTTP/1.1",
        "upper case": b"POST /VALIDATE HTTP/1.1",
        "encoded": b"POST /%76alidate HTTP/1.1",
        "encoded NUL": b"POST /validate%00 HTTP/1.1",
        "NUL": b"POST /validate\x00 HTTP/1.1",
        "a query": b"POST /validate?allowed=true HTTP/1.1",
        "a fragment": b"POST /validate#x HTTP/1.1",
        "a parameter": b"POST /validate;x=y HTTP/1.1",
        "a backslash": b"POST \\validate HTTP/1.1",
        "beyond ASCII": "POST /válidate HTTP/1.1".encode(),
        "no version": b"POST /validate",
        "HTTP/0.9": b"POST /validate HTTP/0.9",
        "HTTP/1.0": b"POST /validate HTTP/1.0",
        "HTTP/1.2": b"POST /validate HTTP/1.2",
        "HTTP/2.0": b"POST /validate HTTP/2.0",
        "HTTP/11": b"POST /validate HTTP/11",
        "another protocol": b"POST /validate ICE/1.0",
        "lower-case protocol": b"POST /validate http/1.1",
        "a line feed first": b"\nPOST /validate HTTP/1.1",
        "empty lines first": b"\r\n" * 100 + b"POST /validate HTTP/1.1",
        "a mark first": b"\xef\xbb\xbfPOST /validate HTTP/1.1",
        "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "SSH": b"SSH-2.0-OpenSSH_9.9",
    }.items()
}

BODIES: Mapping[str, bytes] = {
    "of another type": post(DENIED).replace(b"application/json", b"text/plain"),
    "of no type": post(DENIED).replace(b"Content-Type: application/json\r\n", b""),
    "of YAML": post(DENIED).replace(b"application/json", b"application/yaml"),
    "of another character set": post(DENIED).replace(
        b"application/json", b"application/json; charset=utf-16"
    ),
    "in UTF-16": post(DENIED.decode().encode("utf-16")),
    "in UTF-32": post(DENIED.decode().encode("utf-32")),
    "behind a mark": post(b"\xef\xbb\xbf" + DENIED),
    "in gzip": post(gzip.compress(DENIED), "Content-Encoding: gzip"),
    "in gzip, unmarked": post(gzip.compress(DENIED)),
    "without a length": HEAD + b"\r\n" + DENIED,
    "shorter than its length": post(DENIED + b" " * 9)[:-9],
}

ONE: Mapping[str, Mapping[str, bytes]] = {
    "lengths": LENGTHS,
    "encodings": ENCODINGS,
    "chunks": CHUNKS,
    "headers": HEADERS,
    "first lines": LINES,
    "bodies": BODIES,
}

TWO: Mapping[str, bytes] = {
    "behind a length of nothing and chunks": with_headers(
        b"Content-Length: 0\r\n", CHUNKED, body=SECOND
    ),
    "behind chunks that a length hides": with_headers(
        CHUNKED, b"Content-Length: %d\r\n" % (5 + len(SECOND)), body=b"0\r\n\r\n" + SECOND
    ),
    "behind an unknown encoding": with_headers(
        b"Transfer-Encoding: xchunked\r\n", LENGTH, body=DENIED + SECOND
    ),
    "behind a blank before the colon": with_headers(
        b"Transfer-Encoding : chunked\r\n", LENGTH, body=DENIED + SECOND
    ),
    "behind two lengths": with_headers(
        LENGTH, b"Content-Length: %d\r\n" % (len(DENIED) + len(SECOND)), body=DENIED + SECOND
    ),
    "behind a length of 2^64 and more": with_headers(
        b"Content-Length: %d\r\n" % (2**64 + len(DENIED)), body=DENIED + SECOND
    ),
    "behind a folded length": with_headers(
        b"Content-Length: 0\r\n", b" %d\r\n" % len(DENIED), body=SECOND
    ),
    "behind a chunk of 2^64 and more": with_headers(
        CHUNKED, body=chunk(b"1" + SIZE.rjust(16, b"0")) + SECOND
    ),
    "in a header's value": with_headers(b"a: b\r\r\n" + SECOND + b"\r\n", LENGTH),
    "in a trailer": with_headers(
        CHUNKED, body=SIZE + b"\r\n" + DENIED + b"\r\n0\r\na: b\n\n" + SECOND
    ),
    "behind an upgrade": with_headers(
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n", LENGTH, body=DENIED + SECOND
    ),
    "behind another protocol": b"POST /validate HTTP/2.0\r\n\r\n" + SECOND,
    "behind a tunnel": b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n" + SECOND,
}
