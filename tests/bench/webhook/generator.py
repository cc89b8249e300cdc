"""The load generator: a small Go program, since one in Python would measure itself."""

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.peer.competitors import Running
from tests.support.controlplane.artifacts import cache_root
from tests.support.controlplane.toolchain import go_for

SOURCE = Path(__file__).parent / "load"


@dataclass(frozen=True, slots=True)
class Load:
    """How much is sent.

    Attributes:
        concurrency: Connections; each sends its next request when the last is answered.
        seconds: What is measured.
        warmup: Seconds before.
        requests: Requests after which it stops all the same; 0 for none.
        pause: Milliseconds that a connection rests after each answer.
        expect: What every answer must contain.
    """

    concurrency: int = 1
    seconds: float = 3.0
    warmup: float = 1.0
    requests: int = 0
    pause: float = 0.0
    expect: str = '"allowed":true'


@dataclass(frozen=True, slots=True)
class Measured:
    """What a load generator measured.

    Attributes:
        requests: Answers that were counted.
        seconds: How long that took.
        per_s: Answers a second.
        p50_us: Median of microseconds from a request to its answer.
        p99_us: Their 99th percentile.
        max_us: The longest.
        faults: Answers that were wrong; each ends its connection.
        fault: One of them.
    """

    requests: int
    seconds: float
    per_s: float
    p50_us: float
    p99_us: float
    max_us: float
    faults: int
    fault: str


def program() -> Path:
    """Return the load generator, built first where it is not in the cache."""
    digest = hashlib.sha256()
    for name in ("go.mod", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    target = cache_root().parent / "load" / digest.hexdigest()[:16]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        go = go_for(SOURCE, cache_root())
        command = [str(go), "build", "-trimpath", "-o", str(partial), "."]
        subprocess.run(command, cwd=SOURCE, check=True)
        partial.replace(target)
    return target


@contextmanager
def sending(server: Running, body: bytes, load: Load) -> Iterator[subprocess.Popen[str]]:
    """Send requests while the block runs; `finished` tells what was measured."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        flags = {
            "address": f"127.0.0.1:{server.port}",
            "path": server.competitor.path,
            "ca": str(server.authority),
            "body": file.name,
            "expect": load.expect,
            "concurrency": str(load.concurrency),
            "duration": f"{load.seconds}s",
            "warmup": f"{load.warmup}s",
            "requests": str(load.requests),
            "pause": f"{load.pause}ms",
        }
        words = [word for name, value in flags.items() for word in (f"-{name}", value)]
        process = subprocess.Popen(
            [str(program()), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def finished(process: subprocess.Popen[str]) -> Measured:
    """Wait for a load generator and return what it measured.

    Raises:
        RuntimeError: It could not connect, or an answer was wrong: then its numbers mean nothing.
    """
    output, complaint = process.communicate()
    if process.returncode:
        raise RuntimeError(complaint)
    measured = Measured(**json.loads(output))
    if measured.faults:
        raise RuntimeError(f"{measured.faults} wrong answers, such as {measured.fault}")
    return measured


def measure(server: Running, body: bytes, load: Load) -> Measured:
    """Send requests for a while."""
    with sending(server, body, load) as process:
        return finished(process)
