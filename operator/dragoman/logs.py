"""Structured logs as text or JSON; records of other libraries get the same form.

A log that cannot be written costs records, which are counted: one thread writes them from a queue.
structlog and prometheus_client are imported where they are first used: together they take longer to
start than a command of `kubectl dra` should, and most commands log nothing.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO, cast

import orjson

if TYPE_CHECKING:
    import structlog

    Processors = list[structlog.typing.Processor]

QUEUE_LIMIT = 1 << 22
"""Bytes of records that wait for the thread; about 20,000 lines."""
BATCH_INTERVAL = 0.02
"""Seconds between writes: one write of many lines costs as much as one of a single line."""
DRAIN_TIMEOUT = 1.0
"""Seconds that the end of the process waits for the log."""
RATE_LIMITED = ("asyncio", "aiofastnet", "aiohttp.server")
"""Loggers of which a client can cause any number of records, as by connections that it breaks."""
BURST = 10
"""Records of a rate-limited logger at once."""
REFILL_SECONDS = 1.0
"""Seconds for one more record of a rate-limited logger."""
HANDSHAKE_FAILED = "SSL handshake failed"
"""aiofastnet reports a client that leaves during the handshake as an error of the server."""


class LogSink:
    """Writes records to a file descriptor in a thread of its own.

    A reader that stalls, a reader that has ended and a full disk must not stop the event loop, so
    `write` neither blocks nor raises. What cannot be queued or written is counted in
    `dragoman_log_records_lost_total`.

    Args:
        descriptor: Where records go; an invalid one loses them all.
        limit: Bytes of records that wait for the thread.
    """

    def __init__(self, descriptor: int, limit: int = QUEUE_LIMIT) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._queue: list[bytes] = []
        self._size = 0
        self._lock = threading.Lock()
        self._filled = threading.Event()
        threading.Thread(target=self._run, name="log-writer", daemon=True).start()

    def write(self, text: str) -> int:
        """Queue one record with its line end."""
        record = text.encode(errors="backslashreplace")
        with self._lock:
            fits = self._size + len(record) <= self._limit
            if fits:
                self._queue.append(record)
                self._size += len(record)
        if not fits:
            _count_lost("queue_full")
        elif not self._filled.is_set():
            self._filled.set()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes as soon as it can."""

    def drain(self, timeout: float = DRAIN_TIMEOUT) -> None:
        """Wait until everything queued is written, but no longer than so many seconds."""
        deadline = time.monotonic() + timeout
        while self._size and time.monotonic() < deadline:
            time.sleep(BATCH_INTERVAL / 4)

    def _run(self) -> None:
        while True:
            self._filled.wait()
            self._filled.clear()
            with self._lock:
                records, self._queue = self._queue, []
            written = self._write(b"".join(records))
            lost = _records_after(records, written)
            if lost:
                _count_lost("write_failed", lost)
            with self._lock:
                # Only now, so that the limit holds for what is being written as well.
                self._size -= sum(map(len, records))
            time.sleep(BATCH_INTERVAL)

    def _write(self, data: bytes) -> int:
        """Write bytes, and return how many were written before the first fault."""
        written = 0
        while written < len(data):
            try:
                written += os.write(self._descriptor, data[written:])
            except BlockingIOError:  # the descriptor is shared with a process that made it so
                select.select([], [self._descriptor], [])
            except OSError:
                break
        return written


def _records_after(records: list[bytes], written: int) -> int:
    """Count the records that end after so many bytes."""
    end = lost = 0
    for record in records:
        end += len(record)
        lost += end > written
    return lost


def _count_lost(cause: str, records: int = 1) -> None:
    from dragoman import metrics  # noqa: PLC0415 — see the module's docstring

    metrics.LOG_RECORDS_LOST.labels(cause).inc(records)


class RateLimit(logging.Filter):
    """Lets BURST records pass at once, and then one each REFILL_SECONDS; counts the others.

    Records of failed handshakes never pass, and are not counted.

    Args:
        clock: Returns seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._tokens = float(BURST)
        self._filled_at = clock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record passes."""
        if str(record.msg).startswith(HANDSHAKE_FAILED):
            return False
        now = self._clock()
        refill = (now - self._filled_at) / REFILL_SECONDS
        self._tokens = min(float(BURST), self._tokens + refill)
        self._filled_at = now
        if self._tokens < 1.0:
            _count_lost("rate_limited")
            return False
        self._tokens -= 1.0
        return True


def logger(name: str) -> Any:
    """Return a logger that takes key-value pairs."""
    return _LazyLogger(name)


class _LazyLogger:
    """A logger of structlog, made when something is logged."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logger: Any = None

    def __getattr__(self, method: str) -> Any:
        if self._logger is None:
            try:
                import structlog  # noqa: PLC0415 — see the module's docstring
            except ModuleNotFoundError:
                self._logger = _Plain(self._name)
            else:
                self._logger = structlog.get_logger(logger_name=self._name)
        return getattr(self._logger, method)


class _Plain:
    """A logger where only what users' commands need is installed: warnings, to stderr."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def __getattr__(self, method: str) -> Callable[..., None]:
        def write(event: str, **values: object) -> None:
            shown = "".join(f" {name}={value}" for name, value in values.items())
            getattr(self._logger, method)("%s%s", event, shown)

        return write


def configure(*, json: bool, level: str) -> None:
    """Send all records of this process to stderr.

    Own records are rendered without the standard library's logging, which is several times
    cheaper; records of libraries come from there and get the same form.

    Args:
        json: One JSON object a line, rather than text.
        level: The least severe level that is shown, as `INFO`.
    """
    import structlog  # noqa: PLC0415 — see the module's docstring

    threshold = logging.getLevelNamesMapping()[level]
    shared: Processors = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]
    rendered: Processors = _json(structlog) if json else _text(structlog)
    sink = _stderr()
    structlog.configure(
        processors=[*shared, *rendered],
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", sink)),
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, _logger_name],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
    )
    handler = logging.StreamHandler(cast("TextIO", sink))
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    # kopf reports each activity, and "Handler … succeeded" for every event of every object.
    logging.getLogger("kopf").setLevel(max(logging.WARNING, threshold))
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    for name in RATE_LIMITED:
        logging.getLogger(name).filters[:] = [RateLimit()]


def last_line(text: str) -> None:
    """Write a line for people below all records; wait for a slow reader DRAIN_TIMEOUT at most."""
    sink = _stderr()
    sink.write(f"{text}\n")
    if isinstance(sink, LogSink):
        sink.drain()


def _stderr() -> TextIO | LogSink:
    """Return the sink of the process, or a stream in memory that a test has put in its place."""
    if sys.stderr is None:  # closed by the parent: the number may belong to a socket by now
        return _sink(-1)
    try:
        return _sink(sys.stderr.fileno())
    except OSError:
        return sys.stderr


@cache
def _sink(descriptor: int) -> LogSink:
    sink = LogSink(descriptor)
    atexit.register(sink.drain)
    return sink


def _json(structlog: Any) -> Processors:
    return [
        structlog.processors.EventRenamer("msg"),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_dump),
    ]


def _text(structlog: Any) -> Processors:
    """Render for people on a terminal; use a cheaper renderer otherwise: two lines a pod add up."""
    if sys.stderr is None or not sys.stderr.isatty():
        return [structlog.processors.format_exc_info, _plain]
    console = structlog.dev.ConsoleRenderer(
        timestamp_key="ts",
        # The others print local variables, which hold tokens and users' objects.
        exception_formatter=structlog.dev.plain_traceback,
    )
    return [console]


def _plain(_: Any, __: str, event: structlog.typing.EventDict) -> str:
    """Render a line as `time level logger message key=value…`, and a stack trace below."""
    trace = event.pop("exception", None)
    head = [event.pop(key, "") for key in ("ts", "level", "logger_name", "event")]
    pairs = [f"{key}={value!r}" for key, value in event.items()]
    line = " ".join(map(str, [*head, *pairs]))
    return line if trace is None else f"{line}\n{trace}"


def _dump(record: dict[str, Any], **_: Any) -> str:
    record["logger"] = record.pop("logger_name", None)
    return orjson.dumps(record, default=str).decode()


def _logger_name(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event["logger_name"] = event["_record"].name
    return event
