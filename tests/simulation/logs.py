"""What the processes of a simulation log."""

from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Self

import structlog

WARNING = 30
ERRORS = frozenset({"error", "exception", "critical"})


class Captured:
    """Keeps warnings and errors in place of writing them."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, dict[str, Any]]] = []
        self._before: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._before = structlog.get_config()
        structlog.configure(
            processors=[structlog.processors.add_log_level, self._keep],
            logger_factory=structlog.ReturnLoggerFactory(),
            wrapper_class=structlog.make_filtering_bound_logger(WARNING),
            cache_logger_on_first_use=False,
        )
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _one: object, _where: TracebackType | None
    ) -> None:
        structlog.configure(**self._before)

    @property
    def errors(self) -> list[str]:
        """What is logged as an error."""
        return [
            f"{entry.get('event')}: {str(entry.get('exc_info') or entry)[:300]}"
            for method, entry in self.entries
            if method in ERRORS
        ]

    def _keep(
        self, _logger: object, method: str, entry: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        self.entries.append((method, dict(entry)))
        raise structlog.DropEvent
