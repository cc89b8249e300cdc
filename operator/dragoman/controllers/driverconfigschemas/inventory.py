"""Everything stored of one resource, object by object, as it was written.

A review looks at literal numbers and repeated keys, which a JSON library has forgotten already;
so the audit reads lines and parses them as the webhook does.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import orjson

from dragoman.driverconfigs.strictjson import Malformed, parse
from dragoman.kube.client import ApiError, Client, Resource, pages
from dragoman.kube.reflector import INITIAL_EVENTS_END

BATCH = 100
_STREAM = {
    "watch": "true",
    "sendInitialEvents": "true",
    "allowWatchBookmarks": "true",
    "resourceVersionMatch": "NotOlderThan",
    "resourceVersion": "",
    "timeoutSeconds": "600",
}


async def batches(api: Client, resource: Resource) -> AsyncIterator[list[Any]]:
    """Yield all objects in batches; raise ApiError when they cannot all be read.

    Uses a streaming list (KEP-3157), which costs the API server no copy of the whole; where it
    has none, pages, in which repeated keys cannot be seen any more.
    """
    try:
        async for batch in _streamed(api, resource):
            yield batch
    except ApiError as error:
        if error.code not in {400, 422}:
            raise
        async for batch in _paged(api, resource):
            yield batch


async def _streamed(api: Client, resource: Resource) -> AsyncIterator[list[Any]]:
    batch: list[Any] = []
    async with aclosing(_lines(api, resource)) as lines:
        async for line in lines:
            try:
                event = parse(line)
            except Malformed:  # nested so deeply that the webhook would take it for no review
                continue
            if event["type"] == "ERROR":
                raise ApiError(0, "NoAnswer", f"list {resource.plural}: {event['object']}")
            if event["type"] == "BOOKMARK":
                if _is_end(event["object"]):
                    yield batch
                    return
                continue
            batch.append(event["object"])
            if len(batch) >= BATCH:
                yield batch
                batch = []
    raise ApiError(0, "NoAnswer", f"list {resource.plural}: ended before it was complete")


def _is_end(bookmark: Any) -> bool:
    return INITIAL_EVENTS_END in (bookmark["metadata"].get("annotations") or {})


async def _lines(api: Client, resource: Resource) -> AsyncGenerator[bytes, None]:
    async for line in api.lines(resource.path(), _STREAM):
        yield line


async def _paged(api: Client, resource: Resource) -> AsyncIterator[list[Any]]:
    async for page in pages(api, resource.path()):
        yield [parse(orjson.dumps(item)) for item in page["items"] or ()]
