"""The metrics of the webhook."""

from contextlib import suppress
from functools import cache, partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry(auto_describe=True)
_counter = partial(Counter, registry=REGISTRY)
_gauge = partial(Gauge, registry=REGISTRY)
_histogram = partial(Histogram, registry=REGISTRY)

REVIEWS = _counter(
    "dragoman_webhook_reviews_total",
    "Reviews, by verdict (allowed, warned, denied, error) and resource; errors have no resource.",
    ["verdict", "resource"],
)
FINDINGS = _counter(
    "dragoman_webhook_findings_total",
    "Reviews with errors or warnings, by verdict and driver; only drivers with a schema count.",
    ["verdict", "driver"],
)
REFUSED = _counter(
    "dragoman_webhook_requests_refused_total",
    "Requests answered with an HTTP error, by HTTP status.",
    ["code"],
)
DURATION = _histogram(
    "dragoman_webhook_review_duration_seconds",
    "Duration of reviews, from the complete request to the verdict.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
IN_FLIGHT = _gauge(
    "dragoman_webhook_reviews_in_flight", "Reviews that wait for a thread or run there."
)
CACHED = _gauge(
    "dragoman_webhook_cached_results", "Validation results of driver configs in the cache."
)
CERTIFICATE_EXPIRY = _gauge(
    "dragoman_webhook_certificate_expiry_timestamp_seconds",
    "When the serving certificate expires, as Unix time.",
)


@cache
def _reviews(verdict: str, resource: str) -> Counter:
    return REVIEWS.labels(verdict, resource)


def count(verdict: str, resource: str) -> None:
    """Count a review; the labels are looked up once, because that takes as long as counting."""
    _reviews(verdict, resource).inc()


def forget(driver: str) -> None:
    """Remove what was counted for a driver that has no schema any more."""
    for verdict in ("allowed", "warned", "denied"):
        with suppress(KeyError):
            FINDINGS.remove(verdict, driver)
