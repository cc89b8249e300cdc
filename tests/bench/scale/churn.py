"""Jobs that come and go: pods with a claim are created, finish, and are deleted.

A process of its own sends the requests, so that they do not delay the watch that measures.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import SpawnProcess

from tests.bench.claims import objects
from tests.bench.claims.traffic import STRATEGIC, RefusedError, Request, Server, Session
from tests.support import manifests

IN_FLIGHT = 64
TIMED_OUT, ATTEMPTS = 504, 5
LIFETIME = 10
"""Seconds from a pod's creation until it finishes, and from there to its deletion."""

Due = tuple[float, Request]


def plan(namespace: str, rate: int, seconds: int, over: Callable[[], bool]) -> Iterator[Due]:
    """Yield requests with the second at which each is due, in order.

    Args:
        namespace: Of the pods; has the template.
        rate: Pods created per second.
        seconds: For how long pods are created; the last ones are finished and deleted after it.
        over: Whether this time has passed: an API server that falls behind gets fewer pods, and
            the run does not become longer.
    """
    created: set[int] = set()
    for second in range(seconds + 2 * LIFETIME):
        if second < seconds and not over():
            created.add(second)
        for index in range(rate):
            due = second + index / rate
            if second in created:
                yield due, create(namespace, second, index)
            if second - LIFETIME in created:
                yield due, finish(namespace, second - LIFETIME, index)
        if second - 2 * LIFETIME in created:
            yield second + 1.0, delete(namespace, second - 2 * LIFETIME)


def create(namespace: str, batch: int, index: int) -> Request:
    """Create one pod of the batch of a second."""
    pod = manifests.pod(
        name(batch, index),
        namespace,
        templates={"entry-0": objects.TEMPLATE},
        labels={"batch": str(batch)},
    )
    return Request("POST", objects.pods_path(namespace), pod)


def finish(namespace: str, batch: int, index: int) -> Request:
    """Set the pod's phase to Succeeded, as a kubelet does."""
    path = objects.pods_path(namespace, name(batch, index), "status")
    return Request("PATCH", path, {"status": {"phase": "Succeeded"}}, STRATEGIC)


def delete(namespace: str, batch: int) -> Request:
    """Delete all pods of a batch with one request."""
    return Request("DELETE", f"{objects.pods_path(namespace)}?labelSelector=batch%3D{batch}")


def name(batch: int, index: int) -> str:
    """Return the name of a pod."""
    return f"job-{batch:04}-{index:04}"


def start(server: Server, namespace: str, rate: int, seconds: int) -> SpawnProcess:
    """Start to send; the process ends with status 0 when all is sent."""
    process = multiprocessing.get_context("spawn").Process(
        target=_main, args=(server, namespace, rate, seconds), daemon=True
    )
    process.start()
    return process


def _main(server: Server, namespace: str, rate: int, seconds: int) -> None:
    end = time.monotonic() + seconds
    requests = plan(namespace, rate, seconds, lambda: time.monotonic() > end)
    asyncio.run(_send(server, requests))


async def _send(server: Server, requests: Iterator[Due]) -> None:
    began = time.monotonic()

    async def work() -> None:
        for due, request in requests:
            if (early := began + due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            await _repeat(session, request)

    async with Session(server) as session, asyncio.TaskGroup() as workers:
        for _ in range(IN_FLIGHT):
            workers.create_task(work())


async def _repeat(session: Session, request: Request) -> None:
    """Send a request; continue the deletion of a batch where a busy API server timed out."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await session.send(request)
        except RefusedError as error:
            if error.status != TIMED_OUT or request.method != "DELETE" or attempt == ATTEMPTS:
                raise
        else:
            return
