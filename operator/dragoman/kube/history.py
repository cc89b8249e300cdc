"""What the server has sent of a resource: a restored etcd has another history.

Every object counts here, whether its informer keeps it or not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.kube.decoding import decode
from dragoman.kube.informer import Informer

VERSION = re.compile(rb'"resourceVersion":"([0-9]+)"')
"""A version in a watch line."""
NO_CHANGES = (b'{"type":"ERROR"', b'{"type":"BOOKMARK"')


@dataclass
class History:
    """The last event of a resource; until there is one, its list."""

    _event: bytes = b""  # The line of the last event, or of the newest object of the list
    _count: int | None = 0  # Objects of the list; None once an event has followed it
    _newest: int = 0  # The version of the newest object of the list

    def listed(self, line: bytes) -> None:
        """Note a line of a list."""
        if line.startswith(NO_CHANGES):
            return
        self._count = (self._count or 0) + 1
        version = int(_version(line) or -1)
        if version >= self._newest:
            self._newest, self._event = version, line

    def happened(self, line: bytes) -> None:
        """Note a line of a watch."""
        if not line.startswith(NO_CHANGES):
            self._event, self._count = line, None

    @property
    def version(self) -> str:
        """The version of the last event; empty where there is none."""
        return _version(self._event)

    async def is_of(self, informer: Informer[Any], reached: str) -> bool:
        """Whether this is what has happened to a resource on the server; raise ApiError.

        Args:
            informer: Of the resource.
            reached: The version up to which everything has arrived.
        """
        if self._count is not None and not informer.field_selector:
            page = await _at(informer, reached, informer.path, limit="1")
            more = int(page["metadata"].get("remainingItemCount") or 0)
            if len(page["items"] or ()) + more != self._count:
                return False
        if not self._event:
            return True
        event = decode(self._event)
        metadata, version = event["object"]["metadata"], self.version
        if event["type"] != "DELETED":
            found = await _found(informer, metadata, reached)
            # Another history may have given its version to another change of it.
            return found is not None and found.items() <= event["object"].items()
        before = await _found(informer, metadata, str(int(version) - 1))
        return before is not None and await _found(informer, metadata, reached) is None


def _version(line: bytes) -> str:
    """Return the version of the object of a watch line; empty where it has none."""
    found = VERSION.search(line)
    if found is None:
        return ""
    # Event, object and metadata; a custom resource has labels before it, which may be named alike.
    if line.count(b"{", 0, found.start()) > 3 and VERSION.search(line, found.end()):
        return str(decode(line)["object"]["metadata"]["resourceVersion"])
    return found[1].decode()


async def _found(
    informer: Informer[Any], metadata: Mapping[str, Any], at: str
) -> Mapping[str, Any] | None:
    """Return an object as it was when the server was at a version."""
    name = metadata["name"]
    query = informer.query or {"fieldSelector": f"metadata.name={name}"}
    path = informer.resource.path(metadata.get("namespace") or "")
    page = await _at(informer, at, path, **query)
    uid = metadata["uid"]
    return next((one for one in page["items"] or () if one["metadata"]["uid"] == uid), None)


async def _at(informer: Informer[Any], version: str, path: str, **query: str) -> dict[str, Any]:
    at = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    return await informer.client.get(path, **query, **at)


def later(*versions: str) -> str:
    """Return the latest of some versions, of which some may be empty."""
    return max(versions, key=lambda one: int(one) if one.isdigit() else -1)
