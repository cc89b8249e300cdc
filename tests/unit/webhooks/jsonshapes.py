"""JSON as no API server writes it: in parameters, around them, and in the review itself.

`PARAMETERS` are texts of `opaque.parameters`, all of them invalid. `PLACES` are whole reviews of an
invalid config, with something odd at another place.
"""

import json
from collections.abc import Mapping

from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds.reviews import DENIED, Json, review

KIND = json.dumps(worlds.KIND).encode()[1:-1]


def with_level(value: bytes) -> bytes:
    """Return parameters whose field, an integer, is written so."""
    return b"{" + KIND + b', "level": ' + value + b"}"


def changed(old: bytes, new: bytes) -> bytes:
    """Return the review of an invalid config with one text replaced."""
    assert old in DENIED
    return DENIED.replace(old, new, 1)


_REPEATS = {
    "a repeated key": b'{%s, "level": 1, "level": "x"}' % KIND,
    "a repeated key, valid last": b'{%s, "level": "x", "level": 1}' % KIND,
    "a repeated key, the same": b'{%s, "level": 1, "level": 1}' % KIND,
    "a repeated key, escaped": b'{%s, "level": "x", "\\u006cevel": 1}' % KIND,
    "a repeated kind": b'{%s, "level": 1, "kind": "Other"}' % KIND,
    "a kind repeated in front": b'{"kind": "Other", %s, "level": 1}' % KIND,
    "another case": b'{%s, "Level": 1}' % KIND,
    "a key with NUL": b'{%s, "level\\u0000": 1}' % KIND,
    "an empty key": b'{%s, "": 1}' % KIND,
    "a key of 100 KB": b'{%s, "%s": 1}' % (KIND, b"k" * 100_000),
    "10,000 keys": b"{%s, %s}" % (KIND, b", ".join(b'"k%d": 1' % n for n in range(10_000))),
    "__proto__": b'{%s, "__proto__": {"level": 1}}' % KIND,
}
_NUMBERS = {
    f"number {value.decode()[:24]}": with_level(value)
    for value in (
        *(b"1.0", b"1e0", b"10e-1", b"-0.0", b"1.5", b"1E400", b"-1e999", b"1e-999"),
        *(b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616"),
        *(b"9" * 5000, b"1e1000000000", b"0." + b"1" * 5000, b"1" + b"0" * 400),
        *(b"01", b"+1", b".5", b"1.", b"0x10", b"1_000", b"NaN", b"Infinity", b"-Infinity"),
        *(b"1e", b"--1", b"1 2", b"true", b"null,", b"[1]", b'{"a": 1}', b'"1"'),
    )
}
_TEXTS = {
    f"text {name}": with_level(b'"' + value + b'"')
    for name, value in {
        "half a surrogate pair, high": b"\\ud800",
        "half a surrogate pair, low": b"\\udc00",
        "a reversed surrogate pair": b"\\udc00\\ud800",
        "half a surrogate pair and a letter": b"\\ud800x",
        "two high surrogates": b"\\ud800\\ud800",
        "a surrogate in UTF-8": b"\xed\xa0\x80",
        "a stray byte": b"\xff",
        "an overlong slash": b"\xc0\xaf",
        "an overlong NUL": b"\xc0\x80",
        "a cut character": b"\xe2\x82",
        "beyond Unicode": b"\xf4\x90\x80\x80",
        "NUL": b"\x00",
        "an escaped NUL": b"\\u0000",
        "a newline": b"\n",
        "a tab": b"\t",
        "an unknown escape": b"\\x41",
        "a short escape": b"\\u12",
        "an escape of letters": b"\\uzzzz",
        "an escaped end": b"\\",
        "a mark": b"\xef\xbb\xbf",
        "right to left": "\u202e".encode(),
        "1 MB": b"x" * 1_000_000,
        "100,000 escapes": b"\\u0041" * 100_000,
    }.items()
}
_DEPTHS = {
    f"{depth:,} {name}": with_level(opening * depth + b"1" + closing * depth)
    for name, opening, closing in (
        ("arrays", b"[", b"]"),
        ("objects", b'{"a":', b"}"),
        ("of both", b'[{"a":', b"}]"),
        ("arrays that never end", b"[", b""),
    )
    for depth in (100, 250, 1_000, 10_000, 100_000)
}
_FORMS = {
    "a comment": b'{%s, "level": 1 /* one */}' % KIND,
    "a line comment": b'{%s, "level": 1} // one' % KIND,
    "a comma too many": b'{%s, "level": 1,}' % KIND,
    "no comma": b'{%s "level": 1}' % KIND,
    "single quotes": b"{%s, 'level': 1}" % KIND,
    "no quotes": b"{%s, level: 1}" % KIND,
    "no colon": b'{%s, "level" 1}' % KIND,
    "Python": b'{%s, "level": None}' % KIND,
    "JavaScript": b'{%s, "level": undefined}' % KIND,
    "a form feed": b'{%s,\x0c"level": "x"}' % KIND,
    "a blank of Unicode": '{%s,\u00a0"level": "x"}'.encode() % KIND,
    "an array": b"[1]",
    "a text": b'"x"',
    "a text of JSON": json.dumps((b"{" + KIND + b"}").decode()).encode(),
    "a number": b"1",
    "true": b"true",
    "nothing at all": b"",
    "half an object": b"{",
    "two objects": b"{%s}{%s}" % (KIND, KIND),
    "a bracket too many": b"{%s}}" % KIND,
    "100,000 numbers": with_level(b"[" + b"1," * 100_000 + b"1]"),
}
PARAMETERS: Mapping[str, Mapping[str, bytes]] = {
    "keys": _REPEATS,
    "numbers": _NUMBERS,
    "texts": _TEXTS,
    "depths": _DEPTHS,
    "forms": _FORMS,
}

_UID = b'"uid": "0a1b"'
_OBJECT = b'"object": {'
PLACES: Mapping[str, bytes] = {
    "two requests": changed(b'"request": {', b'"request": {}, "request": {'),
    "two uids": changed(_UID, b'"uid": "x", "uid": "0a1b"'),
    "two operations": changed(
        b'"operation": "CREATE"', b'"operation": "DELETE", "operation": "CREATE"'
    ),
    "two operations, the last deletes": changed(
        b'"operation": "CREATE"', b'"operation": "CREATE", "operation": "DELETE"'
    ),
    "two objects": changed(_OBJECT, b'"object": {}, "object": {'),
    "an escaped object in front": changed(_OBJECT, b'"\\u006fbject": {}, "object": {'),
    "an empty object behind": changed(b'"oldObject": null', b'"object": {}, "oldObject": null'),
    "an escaped empty object behind": changed(
        b'"oldObject": null', b'"\\u006fbject": {}, "oldObject": null'
    ),
    "two specs": changed(b'"spec": {', b'"spec": {}, "spec": {'),
    "two drivers": changed(b'"driver": "', b'"driver": "other.example.com", "driver": "'),
    "Request": changed(b'"request": {', b'"Request": {}, "request": {'),
    "a uid with half a pair": changed(_UID, b'"uid": "\\ud800"'),
    "a uid with a stray byte": changed(_UID, b'"uid": "\xff"'),
    "a uid of 1 MB": changed(_UID, b'"uid": "%s"' % (b"u" * 1_000_000)),
    "a uid with a line end": changed(_UID, b'"uid": "a\\r\\nb"'),
    "a uid that is null": changed(_UID, b'"uid": null'),
    "an operation with a blank": changed(b'"CREATE"', b'"CREATE "'),
    "lower case": changed(b'"CREATE"', b'"create"'),
    "another version": changed(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    "a version with NUL": changed(b"admission.k8s.io/v1", b"admission.k8s.io/v1\\u0000"),
    "another kind": changed(b'"AdmissionReview"', b'"admissionreview"'),
    "metadata that is a text": changed(_OBJECT, b'"object": {"metadata": "x", '),
    "10,000 levels beside the request": changed(
        b'"request": {', b'"x": ' + b"[" * 10_000 + b"]" * 10_000 + b', "request": {'
    ),
    "10,000 levels in an annotation's place": changed(
        _OBJECT, b'"object": {"status": ' + b"[" * 10_000 + b"]" * 10_000 + b", "
    ),
    "half a pair in a label": changed(_OBJECT, b'"object": {"status": {"a": "\\ud800"}, '),
    "a stray byte in a label": changed(_OBJECT, b'"object": {"status": {"a": "\xff"}, '),
    "a number beyond a double": changed(_OBJECT, b'"object": {"status": {"a": 1e999}, '),
    "NaN": changed(_OBJECT, b'"object": {"status": {"a": NaN}, '),
    "blanks of 1 MB": b" " * 1_000_000 + DENIED + b" " * 1_000_000,
    "garbage behind": DENIED + b"x",
    "NUL behind": DENIED + b"\x00",
    "another review behind": DENIED + DENIED,
    "a mark in front": b"\xef\xbb\xbf" + DENIED,
    "in an array": b"[" + DENIED + b"]",
    "in a text": json.dumps(DENIED.decode()).encode(),
    "cut at the end": DENIED[:-1],
    "UTF-16": DENIED.decode().encode("utf-16"),
}


def with_parameters(parameters: bytes) -> bytes:
    """Return the review of a claim whose second config has these parameters.

    The first is valid, and the third is of a driver without a schema: neither hides the second.
    """
    entries: list[Json] = [
        worlds.entry({**worlds.KIND, "level": 1}),
        worlds.entry("@@"),
        worlds.entry({"any": 1}, driver="other.example.com"),
    ]
    return json.dumps(review(worlds.claim(*entries))).encode().replace(b'"@@"', parameters)
