"""Structured logs: one line a write, as text or JSON; other libraries' records look the same."""

import logging
import sys
from typing import Any

import orjson
import structlog

Processors = list[structlog.typing.Processor]


def logger(name: str) -> Any:
    """Return a logger that takes key-value pairs."""
    return structlog.get_logger(logger_name=name)


def configure(*, json: bool, level: str) -> None:
    """Send all records of this process to stderr.

    Own records go there straight, which is several times cheaper than through the standard
    library's logging; records of libraries come from there and get the same form.

    Args:
        json: One JSON object a line, rather than text.
        level: The least severe level that is shown, as `INFO`.
    """
    threshold = logging.getLevelNamesMapping()[level]
    shared: Processors = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]
    rendered: Processors = _json() if json else _text()
    structlog.configure(
        processors=[*shared, *rendered],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, _logger_name],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    # kopf says "Handler … succeeded" for every event of every object.
    logging.getLogger("kopf.objects").setLevel(max(logging.WARNING, threshold))
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _json() -> Processors:
    return [
        structlog.processors.EventRenamer("msg"),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_dump),
    ]


def _text() -> Processors:
    """Be easy on the eye of a person, and cheap where nobody looks: two lines a pod add up."""
    if not sys.stderr.isatty():
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
