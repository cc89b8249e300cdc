"""Prometheus collector: claims by state, waiting pods, build info."""

import platform
from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dragoman import __version__
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.gather import age
from dragoman.controllers.claims.saferelease import SafeReleaser
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod


class ClaimCollector(Collector):
    """Gauges computed from the stores at each scrape.

    Args:
        state: The stores.
        safe: What is known for safe release; None without it.
    """

    def __init__(self, state: ClusterState, safe: SafeReleaser | None = None) -> None:
        self._state = state
        self.safe = safe

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics without samples, for documentation."""
        yield GaugeMetricFamily(
            "dragoman_resource_claims",
            "Claims by whether they hold devices, whether they are reserved, who made them "
            "(template, extended, user) and whether they have admin access.",
            labels=["allocated", "reserved", "source", "admin_access"],
        )
        yield GaugeMetricFamily(
            "dragoman_waiting_pods", "Live pods with an entry that has no claim in the status."
        )
        yield GaugeMetricFamily(
            "dragoman_oldest_waiting_pod_seconds",
            "Age of the oldest pod that waits for a claim; 0 for none.",
        )
        yield GaugeMetricFamily(
            "dragoman_left_consumers",
            "Pods that keep a claim although they left the API; with --safe-release only.",
        )
        yield GaugeMetricFamily(
            "dragoman_oldest_left_consumer_seconds",
            "Time since the first of them left; 0 for none.",
        )
        yield GaugeMetricFamily(
            "dragoman_build_info", "1; the labels are the versions.", labels=["version", "python"]
        )

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics as of now."""
        claims, waiting, oldest, left, oldest_left, build = families = tuple(self.describe())
        for labels, number in sorted(Counter(map(_labels, self._state.claims)).items()):
            claims.add_metric(labels, number)
        since = sorted(pod.metadata.created for pod in self._state.pods if is_waiting(pod))
        waiting.add_metric([], len(since))
        oldest.add_metric([], age(since[0]) if since else 0.0)
        kept = self.safe.left.values() if self.safe is not None else ()
        left.add_metric([], sum(map(len, kept)))
        oldest_left.add_metric([], self.safe.oldest() if self.safe is not None else 0.0)
        build.add_metric([__version__, platform.python_version()], 1)
        yield from families


def is_waiting(pod: Pod) -> bool:
    """Whether a running or pending pod has a template entry that its status does not name yet."""
    if len(pod.published) >= len(pod.entries) or pod.done or pod.metadata.deleting:
        return False
    return any(e.template_name is not None and e.name not in pod.published for e in pod.entries)


def _labels(claim: Claim) -> tuple[str, ...]:
    source = "extended" if claim.extended else "template" if claim.entry is not None else "user"
    flags = (claim.allocated, bool(claim.consumers))
    return (*(str(flag).lower() for flag in flags), source, str(claim.admin_access).lower())
