"""Prometheus collector: devices by state, pools, and the pods that wait for devices."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.controllers.explain.counts import INFO_LABELS, DeviceCounts, limited

LIMIT = 10_000
"""Series of devices, by default."""


class DeviceCollector(Collector):
    """Gauges of what was counted last; followers, which count nothing, have none.

    Args:
        reasons: Returns the reason of each pod that waits.
        infos: Whether there is a series per device.
        limit: How many there are at most.
    """

    def __init__(
        self, reasons: Callable[[], Mapping[str, str]], *, infos: bool, limit: int = LIMIT
    ) -> None:
        # The last ones; None before the first and after the Lease was lost
        self.counts: DeviceCounts | None = None
        self._reasons = reasons
        self._infos = infos
        self._limit = limit

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics without samples, for documentation."""
        yield GaugeMetricFamily(
            "dragoman_devices",
            "Devices by driver, DeviceClass and state: free, used, tainted, held, blocked (shared "
            "counters do not suffice), unusable (the pool is incomplete or invalid), lost "
            "(allocated, but in no ResourceSlice). A device counts in each of its classes.",
            labels=["driver", "class", "state"],
        )
        yield GaugeMetricFamily(
            "dragoman_device_pools",
            "Pools of ResourceSlices by driver and state: Complete, Incomplete, Invalid.",
            labels=["driver", "state"],
        )
        yield GaugeMetricFamily(
            "dragoman_pods_waiting_for_devices",
            "Pods without a node whose claims have no devices, by what most nodes lack; "
            "NotYetExplained for pods that wait for less than 30 seconds.",
            labels=["reason"],
        )
        yield GaugeMetricFamily(
            "dragoman_pods_held",
            "Pods with scheduling gates that use claims, by who holds them back: kueue, volcano, "
            "kai, or gate for any other.",
            labels=["by"],
        )
        yield GaugeMetricFamily(
            "dragoman_device_info",
            "1 for each device, claim that has it and pod that uses it, for joins with metrics of "
            "devices; only with --device-metrics.",
            labels=INFO_LABELS,
        )
        yield GaugeMetricFamily(
            "dragoman_device_info_dropped",
            "Series of dragoman_device_info that are left out beyond --device-metrics-limit: those "
            "of the namespaces with most of them.",
        )

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they were counted last."""
        counts = self.counts
        if counts is None:
            return
        waiting = Counter((reason,) for reason in self._reasons().values())
        held = {(by,): number for by, number in counts.held.items()}
        numbers: list[Iterable[tuple[tuple[str, ...], int]]] = [
            sorted(one.items()) for one in (counts.devices, counts.pools, waiting, held)
        ]
        if self._infos:
            infos, dropped = limited(counts.infos, self._limit)
            numbers += [((one.labels, 1) for one in infos), [((), dropped)]]
        for metric, found in zip(self.describe(), numbers, strict=False):
            for labels, number in found:
                metric.add_metric(labels, number)
            yield metric
