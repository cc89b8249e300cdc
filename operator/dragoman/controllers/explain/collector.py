"""Prometheus collector: devices by state, pools, and the pods that wait for devices."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

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

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples, for documentation."""
        yield from (self._devices(), self._pools(), self._waiting(), self._held())
        yield from (self._info(), self._dropped())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they were counted last."""
        if self.counts is None:
            return
        devices, pools, waiting = self._devices(), self._pools(), self._waiting()
        for labels, number in sorted(self.counts.devices.items()):
            devices.add_metric(labels, number)
        for pool_labels, number in sorted(self.counts.pools.items()):
            pools.add_metric(pool_labels, number)
        for reason, number in sorted(Counter(self._reasons().values()).items()):
            waiting.add_metric([reason], number)
        held = self._held()
        for by, number in sorted(self.counts.held.items()):
            held.add_metric([by], number)
        yield from (devices, pools, waiting, held)
        if self._infos:
            info, dropped = self._info(), self._dropped()
            kept, left_out = limited(self.counts.infos, self._limit)
            for one in kept:
                info.add_metric(one.labels, 1)
            dropped.add_metric([], left_out)
            yield from (info, dropped)

    @staticmethod
    def _devices() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_devices",
            "Devices by driver, DeviceClass and state: free, used, tainted, held, blocked (shared "
            "counters do not suffice), unusable (the pool is incomplete or invalid), lost "
            "(allocated, but in no ResourceSlice). A device counts in each of its classes.",
            labels=["driver", "class", "state"],
        )

    @staticmethod
    def _pools() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_device_pools",
            "Pools of ResourceSlices by driver and state: Complete, Incomplete, Invalid.",
            labels=["driver", "state"],
        )

    @staticmethod
    def _waiting() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_pods_waiting_for_devices",
            "Pods without a node whose claims have no devices, by what most nodes lack; "
            "NotYetExplained for pods that wait for less than 30 seconds.",
            labels=["reason"],
        )

    @staticmethod
    def _info() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_device_info",
            "1 for each device, claim that has it and pod that uses it, for joins with metrics of "
            "devices; only with --device-metrics.",
            labels=list(INFO_LABELS),
        )

    @staticmethod
    def _dropped() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_device_info_dropped",
            "Series of dragoman_device_info that are left out beyond --device-metrics-limit: those "
            "of the namespaces with most of them.",
            labels=[],
        )

    @staticmethod
    def _held() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dragoman_pods_held",
            "Pods with scheduling gates that use claims, by who holds them back: kueue, volcano, "
            "kai, or gate for any other.",
            labels=["by"],
        )
