"""The metrics of the webhook."""

from __future__ import annotations

import functools

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry(auto_describe=True)

REVIEWS = Counter(
    "dragoman_webhook_reviews_total",
    "Reviews, by verdict (allowed, warned, denied, error) and resource; errors have no resource.",
    ["verdict", "resource"],
    registry=REGISTRY,
)
FINDINGS = Counter(
    "dragoman_webhook_findings_total",
    "Reviews with errors or warnings, by verdict and driver; only drivers with a schema count.",
    ["verdict", "driver"],
    registry=REGISTRY,
)
REFUSED = Counter(
    "dragoman_webhook_requests_refused_total",
    "Requests answered with an HTTP error, by HTTP status.",
    ["code"],
    registry=REGISTRY,
)
DURATION = Histogram(
    "dragoman_webhook_review_duration_seconds",
    "Duration of reviews, from the complete request to the verdict.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
IN_FLIGHT = Gauge(
    "dragoman_webhook_reviews_in_flight",
    "Reviews that wait for a thread or run there.",
    registry=REGISTRY,
)
CACHED = Gauge(
    "dragoman_webhook_cached_results",
    "Validation results of driver configs in the cache.",
    registry=REGISTRY,
)
CERTIFICATE_EXPIRY = Gauge(
    "dragoman_webhook_certificate_expiry_timestamp_seconds",
    "When the serving certificate expires, as Unix time.",
    registry=REGISTRY,
)


@functools.cache
def _reviews(verdict: str, resource: str) -> Counter:
    return REVIEWS.labels(verdict, resource)


def count(verdict: str, resource: str) -> None:
    """Count a review; the labels are looked up once, because that takes as long as counting."""
    _reviews(verdict, resource).inc()
