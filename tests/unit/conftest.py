"""What makes a few thousand small tests quick."""

import gc
import os

import structlog
from hypothesis import HealthCheck, settings

from tests.unit.examples import examples

# How long an example takes says more about the machine than about the code. A change lands or not
# by the same examples; runs that ask for more of them get others each time.
settings.register_profile(
    "unit",
    max_examples=examples(25),
    deadline=None,
    derandomize="DRAGOMAN_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")

# As in the product's own logs; the default draws every frame with its variables, for half a second.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

# What is collected lives until the end: the collector need look at it neither often nor again.
gc.set_threshold(50_000, 50, 100)


def pytest_collection_finish() -> None:
    """Keep the tests themselves out of what the collector looks at."""
    gc.collect()
    gc.freeze()
