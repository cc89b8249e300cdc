"""What the webhook counts."""

import functools

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry(auto_describe=True)

REVIEWS = Counter(
    "dragoman_webhook_reviews_total",
    "Reviews, by verdict (allowed, warned, denied, error) and resource; errors have none.",
    ["verdict", "resource"],
    registry=REGISTRY,
)
FINDINGS = Counter(
    "dragoman_webhook_findings_total",
    "Reviews in which something was found, by verdict and driver of a known schema.",
    ["verdict", "driver"],
    registry=REGISTRY,
)
REFUSED = Counter(
    "dragoman_webhook_requests_refused_total",
    "Requests that were no reviews or could not be served, by HTTP status.",
    ["code"],
    registry=REGISTRY,
)
DURATION = Histogram(
    "dragoman_webhook_review_duration_seconds",
    "How long reviews took, from the whole request to the verdict.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
IN_FLIGHT = Gauge(
    "dragoman_webhook_reviews_in_flight",
    "Reviews that wait for their turn, or take longer.",
    registry=REGISTRY,
)
REMEMBERED = Gauge(
    "dragoman_webhook_remembered_judgements",
    "Judgements of parameters that are kept for reuse.",
    registry=REGISTRY,
)
CERTIFICATE_EXPIRY = Gauge(
    "dragoman_webhook_certificate_expiry_timestamp_seconds",
    "When the serving certificate ends, as Unix time.",
    registry=REGISTRY,
)


@functools.cache
def _reviews(verdict: str, resource: str) -> Counter:
    return REVIEWS.labels(verdict, resource)


def count(verdict: str, resource: str) -> None:
    """Count a review; looking up labels each time would take as long as counting."""
    _reviews(verdict, resource).inc()
