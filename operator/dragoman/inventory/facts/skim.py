"""Watch events of ResourceSlices that change nothing which is stored, found without parsing them.

Drivers change attributes far more often than devices or taints. `orjson` makes several hundred
objects of a slice with 64 devices, which costs three times as much as a search in its bytes.
"""

import re
from collections.abc import Callable

from dragoman.inventory.facts.stored import StoredSlice

_HEAD = re.compile(
    rb'\{"type":"MODIFIED","object":\{"kind":"ResourceSlice","apiVersion":"[^"]+",'
    rb'"metadata":\{"name":"([^"\\]+)",(?:"generateName":"[^"\\]*",)?"uid":"([^"\\]+)"'
)
"""The API server writes fields in the order of their Go structs; a quotation mark inside of a
string is escaped, so that no value can look like a field."""
_NAME = re.compile(rb'\{"name":"([^"]+)"')
_COUNTER_SET = re.compile(rb'\{"name":"[^"]+","counters":')
"""How an entry of `sharedCounters` begins; these follow the devices."""


def is_unchanged(line: bytes, stored: Callable[[str], StoredSlice | None]) -> bool:
    """Whether a watch line has the pool, devices and taints of the stored slice.

    False is always safe: the line is then parsed.

    Args:
        line: One line of a watch, as the API server wrote it.
        stored: Returns the slice of a name as it is stored, without its content.
    """
    head = _HEAD.match(line)
    known = stored(head[1].decode(errors="replace")) if head is not None else None
    if head is None or known is None:
        return False
    if known.taints or known.content is not None:
        return False
    spec = line.find(b'"spec":{"driver":"', head.end())
    devices = line.find(b'"devices":[', spec)
    if spec < 0 or devices < 0 or head[2] != known.metadata.uid.encode():
        return False
    if not line.startswith(_start(known), spec) or b'"deletionTimestamp":' in line[:spec]:
        return False
    if line.find(b'"taints":', devices) >= 0:
        return False
    # These stand before the devices or after the last one; to search the devices once more costs
    # as much as the search for taints.
    last = line.rfind(b'{"name":"')
    if b'"partitionTypeAttribute":' in line[spec:devices] + line[last:]:
        return False
    if _COUNTER_SET.match(line, last):
        return False
    return b'"'.join(_NAME.findall(line, devices)) == '"'.join(known.devices).encode()


def _start(known: StoredSlice) -> bytes:
    """Return how the spec of a slice begins while its place in the pool is the same."""
    return (
        f'"spec":{{"driver":"{known.driver}","pool":{{"name":"{known.pool}",'
        f'"generation":{known.generation},"resourceSliceCount":{known.slice_count}}}'
    ).encode()
