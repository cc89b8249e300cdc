"""Prometheus collector: devices by state, pools, and the pods that wait for devices."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.controllers.explain.counts import DeviceCounts

INFO_LABELS = ("driver", "pool", "device", "namespace", "pod", "uuid")


class DeviceCollector(Collector):
    """Gauges of what was counted last; followers, which count nothing, have none.

    Args:
        reasons: Returns the reason of each pod that waits.
        infos: Whether there is a series per device.

    Attributes:
        counts: The last ones; None before the first and after the Lease was lost.
    """

    def __init__(self, reasons: Callable[[], Mapping[str, str]], *, infos: bool) -> None:
        self.counts: DeviceCounts | None = None
        self._reasons = reasons
        self._infos = infos

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples, for documentation."""
        yield from (self._devices(), self._pools(), self._waiting(), self._info())

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
        yield from (devices, pools, waiting)
        if self._infos:
            info = self._info()
            for one in self.counts.infos:
                labels = (one.id.driver, one.id.pool, one.id.device)
                info.add_metric((*labels, one.namespace, one.pod, one.uuid), 1)
            yield info

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
            "1 for each device and pod that uses it, for joins with metrics of devices; only with "
            "--device-metrics.",
            labels=list(INFO_LABELS),
        )
