"""The physical limit: a client that does the writes of a claim controller, and nothing else.

It watches nothing, stores nothing, decides nothing and never tries again.

    python -m tests.bench.claims.raw KUBECONFIG create NAMESPACE --concurrency 16
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

import orjson

from tests.bench.claims import objects
from tests.bench.claims.traffic import Request, Server, Session
from tests.support import manifests

Json = dict[str, Any]
PAGE = 500
CONCURRENCY = 16


async def items(session: Session, path: str) -> AsyncIterator[Json]:
    """List a collection page by page."""
    query = {"limit": str(PAGE)}
    while True:
        page = orjson.loads(await session.send(Request("GET", f"{path}?{urlencode(query)}")))
        for item in page["items"]:
            yield item
        if not page["metadata"].get("continue"):
            return
        query["continue"] = page["metadata"]["continue"]


async def create_for(session: Session, pod: Json) -> None:
    """Create the claims of a pod at once, then publish them."""
    spec = manifests.claim_spec(objects.CLASS)
    entries = [entry["name"] for entry in pod["spec"]["resourceClaims"]]
    claims = [objects.claim_of(pod, entry, spec) for entry in entries]
    await asyncio.gather(*(session.send(objects.create_claim(claim)) for claim in claims))
    await session.send(objects.publish(pod, claims))


async def delete(session: Session, claim: Json) -> None:
    """Delete a claim."""
    await session.send(objects.delete_claim(claim))


async def read_all(session: Session) -> None:
    """List and parse all pods and claims, side by side; print how many seconds it took."""

    async def count(path: str) -> int:
        return len([item async for item in items(session, path)])

    began = time.monotonic()
    pods, claims = await asyncio.gather(count(objects.PODS), count(objects.CLAIMS))
    seconds = time.monotonic() - began
    print(orjson.dumps({"pods": pods, "claims": claims, "seconds": seconds}).decode())


async def hammer(session: Session, namespace: str, concurrency: int) -> None:
    """List pods for ever: a neighbour, not a competitor."""

    async def worker() -> None:
        while True:
            await session.send(Request("GET", f"{objects.pods_path(namespace)}?limit={PAGE}"))

    async with asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(worker())


async def work(session: Session, verb: str, found: Iterable[Json], concurrency: int) -> None:
    """Do one thing to each object, with so many of them in hand at once."""
    one = {"create": create_for, "delete": delete}[verb]
    rest: Iterator[Json] = iter(found)

    async def worker() -> None:
        for item in rest:
            await one(session, item)

    async with asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(worker())


async def run(kubeconfig: str, verb: str, namespace: str, concurrency: int) -> None:
    """Do what the command line says."""
    async with Session(Server.of(kubeconfig)) as session:
        if verb == "list":
            await read_all(session)
            return
        if verb == "hammer":
            await hammer(session, namespace, concurrency)
        paths = {"create": objects.pods_path, "delete": objects.claims_path}
        found = [item async for item in items(session, paths[verb](namespace))]
        await work(session, verb, found, concurrency)


def main() -> None:
    """Run as a program of its own, so that it shares no interpreter with who measures it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.claims.raw")
    parser.add_argument("kubeconfig")
    parser.add_argument("verb", choices=["create", "delete", "list", "hammer"])
    parser.add_argument("namespace", nargs="?", default="")
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY)
    options = parser.parse_args()
    asyncio.run(run(options.kubeconfig, options.verb, options.namespace, options.concurrency))


if __name__ == "__main__":
    main()
