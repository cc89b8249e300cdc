"""A log that cannot be written costs records, and nothing else."""

import logging
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman import logs, metrics
from dragoman.logs import LogSink, RateLimit


def lost(reason: str) -> float:
    """Return how many records were lost for this reason."""
    return float(metrics.LOG_RECORDS_LOST.labels(reason)._value.get())


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.01)


def test_records_are_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        sink = LogSink(file.fileno())
        for number in range(1000):
            sink.write(f"{number}\n")
        sink.drain()
    assert path.read_text().split() == [str(number) for number in range(1000)]


@pytest.mark.hostile("unwritable logs")
def test_a_reader_that_has_ended_costs_records_that_are_counted() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    before = lost("write_failed")
    sink = LogSink(writer)
    for _ in range(5):
        sink.write("line\n")
    sink.drain()
    assert lost("write_failed") == before + 5
    os.close(writer)


@pytest.mark.hostile("unwritable logs")
def test_a_stalled_reader_costs_records_that_are_counted_and_never_blocks() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    before = lost("queue_full")
    sink = LogSink(writer, limit=200_000)
    for _ in range(1000):  # a pipe holds 64 KiB
        sink.write("x" * 999 + "\n")
    sink.drain(timeout=0.1)
    missed = lost("queue_full") - before
    assert 700 <= missed < 1000

    received = bytearray()

    def everything_arrived() -> bool:
        with suppress(BlockingIOError):
            received.extend(os.read(reader, 1 << 20))
        return len(received) == (1000 - missed) * 1000

    wait_until(everything_arrived)
    sink.write("later\n")
    wait_until(lambda: sink._size == 0)
    assert os.read(reader, 100) == b"later\n"
    os.close(reader)
    os.close(writer)


def test_a_descriptor_that_does_not_block_loses_nothing() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = lost("write_failed")
    sink = LogSink(writer)
    sink.write("x" * 199_999 + "\n")
    received = bytearray()
    while len(received) < 200_000:
        received.extend(os.read(reader, 1 << 20))
    assert lost("write_failed") == before
    os.close(reader)
    os.close(writer)


@pytest.mark.hostile("unwritable logs")
def test_a_full_disk_loses_only_the_records_that_do_not_fit(tmp_path: Path) -> None:
    program = f"""
        import resource
        from pathlib import Path
        from dragoman import metrics
        from dragoman.logs import LogSink
        file = open({str(tmp_path / "log")!r}, "wb", buffering=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        sink = LogSink(file.fileno())
        for _ in range(30):
            sink.write("x" * 99 + "\\n")
            sink.drain()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        sink.write("space again\\n")
        sink.drain()
        print(metrics.LOG_RECORDS_LOST.labels("write_failed")._value.get())
    """
    counted = run(program)
    assert counted.stdout == "20.0\n"
    assert (tmp_path / "log").read_text().endswith("\nspace again\n")


def run(program: str, stderr: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(
        command, check=True, text=True, stdout=subprocess.PIPE, stderr=stderr, timeout=60
    )


CONFIGURED = """
    import asyncio, logging
    from dragoman import logs, metrics
    logs.configure(json=False, level="INFO")
    logs.logger("dragoman").info("own", key="value")
    logging.getLogger("library").warning("foreign")
"""


@pytest.mark.parametrize("mode", ["a full disk", "a reader that has ended"])
def test_a_process_whose_log_is_unwritable_ends_in_order(mode: str) -> None:
    if mode == "a full disk":
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    try:
        done = run(CONFIGURED + "    print('worked')\n", stderr=target)
    finally:
        os.close(target)
    assert done.stdout == "worked\n"


def test_a_process_without_a_log_works() -> None:
    command = [sys.executable, "-c", textwrap.dedent(CONFIGURED + "    print('worked')\n")]
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    assert closed.stdout == "worked\n"


def test_own_and_foreign_records_reach_stderr_before_the_process_ends() -> None:
    done = run(CONFIGURED, stderr=subprocess.PIPE)
    own, foreign = done.stderr.splitlines()
    assert own.endswith("info dragoman own key='value'")
    assert foreign.endswith("warning library foreign")


@pytest.mark.hostile("unwritable logs")
def test_a_flood_of_one_library_is_limited_and_goes_on_afterwards() -> None:
    now = 0.0
    limit = RateLimit(lambda: now)
    record = logging.LogRecord("asyncio", logging.WARNING, "", 1, "flood", None, None)
    before = lost("rate_limited")
    assert sum(limit.filter(record) for _ in range(1000)) == logs.BURST
    assert lost("rate_limited") == before + 1000 - logs.BURST
    now = 3 * logs.REFILL_SECONDS
    assert sum(limit.filter(record) for _ in range(1000)) == 3


def test_a_client_that_breaks_connections_cannot_fill_the_log() -> None:
    """asyncio reports each write to a broken connection from the fifth one on."""
    done = run(
        CONFIGURED
        + """
    async def main():
        def accept(reader, writer):
            writer.transport.abort()
            for _ in range(1000):
                writer.write(b"x")
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        await asyncio.open_connection(*server.sockets[0].getsockname())
        await asyncio.sleep(0.2)
    asyncio.run(main())
    """,
        stderr=subprocess.PIPE,
    )
    assert 1 <= done.stderr.count("socket.send() raised exception") <= 2 * logs.BURST


def test_the_last_line_is_below_all_records() -> None:
    done = run(CONFIGURED + "    logs.last_line('dragoman: the reason')\n", stderr=subprocess.PIPE)
    assert done.stderr.splitlines()[-1] == "dragoman: the reason"


@pytest.mark.hostile("unwritable logs")
def test_the_last_line_does_not_wait_for_a_stalled_reader() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    run(CONFIGURED + "    logs.last_line('dragoman: the reason')\n", stderr=writer)
    os.close(reader)
    os.close(writer)
