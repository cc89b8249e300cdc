"""The oracle: Kubernetes' own Go code behind a pipe, built once from this folder.

    with cel_oracle("1.38") as oracle:
        oracle.ask({"op": "base", "expression": "1 + 1"})

The program is built on demand into the user's cache, named by a hash of its sources.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from tests.support.controlplane import standins
from tests.support.controlplane.artifacts import cache_root

SOURCES = Path(__file__).parent
MODULES = {
    "1.36": ("go.mod", ""),
    "1.37": ("go137.mod", ""),
    "1.38": ("go138.mod", "kube138"),
}
"""The file of pinned modules of each version, and the build tag of the files that differ."""
Answer = dict[str, Any]


class OracleUnavailableError(RuntimeError):
    """Go is missing, or the program does not build."""


class Oracle:
    """A running oracle; answers come in the order of the requests."""

    def __init__(self, program: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [str(program or build())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=1 << 20,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, request: Answer) -> Answer:
        """Query one answer."""
        return next(self.ask_all([request]))

    def ask_all(self, requests: Iterable[Answer]) -> Iterator[Answer]:
        """Query many answers; one thread writes requests while another reads."""
        asked = [json.dumps(request) for request in requests]
        writer = threading.Thread(target=self._write, args=(asked,), daemon=True)
        writer.start()
        for _ in asked:
            assert self._process.stdout
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the oracle ended")
            yield json.loads(line)
        writer.join()

    def kill(self) -> None:
        """Kill a program that does not answer; `ask_all` raises RuntimeError."""
        self._process.kill()

    def stop(self) -> None:
        """End the program."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def _write(self, lines: list[str]) -> None:
        assert self._process.stdin
        # A killed oracle reads no more; the reader of its answers notices.
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()


def cel_oracle(kubernetes: str) -> Oracle:
    """Start the CEL of a version, such as "1.36"."""
    modules, tags = MODULES[kubernetes]
    return Oracle(build(modules=modules, name=f"CEL oracle of {kubernetes}", tags=tags))


def build(
    sources: Path = SOURCES, modules: str = "go.mod", name: str = "CEL oracle", tags: str = ""
) -> Path:
    """Return the program, building it when its sources changed (about a minute).

    Args:
        sources: Folder of the Go program.
        modules: Its file of pinned modules, beside which the sums are.
        name: What it is called while it is built.
        tags: Build tags, which choose between files of the program.
    """
    program = _cache() / "dragoman" / "oracle" / _fingerprint(sources, modules) / "oracle"
    if program.exists():
        return program
    compiler = shutil.which("go")
    if compiler is None:
        raise OracleUnavailableError("the oracle needs a Go compiler")
    print(f"building the {name} (once, about a minute) ...", file=sys.stderr, flush=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"oracle.{os.getpid()}")
    environment = os.environ | standins.environment(sources / modules, compiler, cache_root())
    command = ["nice", compiler, "build", "-trimpath", f"-modfile={modules}", f"-tags={tags}"]
    command += ["-o", str(unfinished), "."]
    built = subprocess.run(
        command, cwd=sources, check=False, capture_output=True, text=True, env=environment
    )
    if built.returncode:
        raise OracleUnavailableError(f"the oracle does not build:\n{built.stderr}")
    unfinished.rename(program)
    return program


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _fingerprint(sources: Path, modules: str) -> str:
    digest = hashlib.sha256()
    pinned = [sources / modules, (sources / modules).with_suffix(".sum")]
    for source in sorted([*sources.glob("*.go"), *pinned]):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
