"""Prometheus collector: claims by state, waiting pods, build info."""

import platform
from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman import __version__
from dragoman.controllers.claims.gather import age
from dragoman.controllers.claims.state import ClusterState
from dragoman.model import Claim, Pod

Count = Callable[[GaugeMetricFamily], None]


class ClaimCollector(Collector):
    """Gauges computed from the stores at each scrape."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples, for documentation."""
        yield from (family for family, _ in self._families())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        for family, count in self._families():
            count(family)
            yield family

    def _families(self) -> Iterator[tuple[GaugeMetricFamily, Count]]:
        yield (
            GaugeMetricFamily(
                "dragoman_resource_claims",
                "Claims by whether they hold devices, whether they are reserved, who made them "
                "(template, extended, user) and whether they have admin access.",
                labels=["allocated", "reserved", "source", "admin_access"],
            ),
            self._count_claims,
        )
        since = sorted(pod.metadata.created for pod in self._state.pods if is_waiting(pod))
        yield (
            GaugeMetricFamily(
                "dragoman_waiting_pods", "Live pods with an entry that has no claim in the status."
            ),
            lambda family: family.add_metric([], len(since)),
        )
        yield (
            GaugeMetricFamily(
                "dragoman_oldest_waiting_pod_seconds", "Age of the oldest of them; 0 for none."
            ),
            lambda family: family.add_metric([], age(since[0]) if since else 0.0),
        )
        yield (
            GaugeMetricFamily(
                "dragoman_build_info",
                "1; the labels are the versions.",
                labels=["version", "python"],
            ),
            lambda family: family.add_metric([__version__, platform.python_version()], 1),
        )

    def _count_claims(self, family: GaugeMetricFamily) -> None:
        for labels, number in sorted(Counter(map(_labels, self._state.claims)).items()):
            family.add_metric(labels, number)


def is_waiting(pod: Pod) -> bool:
    """Whether a running or pending pod has a template entry that its status does not name yet."""
    if len(pod.published) >= len(pod.entries) or pod.done or pod.metadata.deleting:
        return False
    return any(e.template_name is not None and e.name not in pod.published for e in pod.entries)


def _labels(claim: Claim) -> tuple[str, ...]:
    source = "extended" if claim.extended else "template" if claim.entry is not None else "user"
    flags = (claim.allocated, bool(claim.consumers))
    return (*(str(flag).lower() for flag in flags), source, str(claim.admin_access).lower())
