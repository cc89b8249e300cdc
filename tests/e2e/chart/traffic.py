"""What people send to a cluster in these tests, and what becomes of it."""

import threading
import time
from collections import Counter
from types import TracebackType
from typing import Any, Self

from tests.support.controlplane.api import Api, ApiError
from tests.support.controlplane.plane import ControlPlane

Json = dict[str, Any]
DRIVER = "gpu.nvidia.com"
BAD = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "GpuConfig",
    "sharing": {"strategy": "Luck"},
}
SHORT = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}}
GOOD = {**BAD, "sharing": SHORT}
"""Good where the driver has its feature gate TimeSlicingSettings, which the chart is told."""
DENIED = 'admission webhook "configs.dragoman.dev" denied the request'


def device_class(parameters: Json, name: str = "tried") -> Json:
    """Return a DeviceClass with a config."""
    opaque = {"driver": DRIVER, "parameters": parameters}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"config": [{"opaque": opaque}]},
    }


def claim(parameters: Json | None, namespace: str, name: str = "tried") -> Json:
    """Return a claim with a config, or without any."""
    devices: Json = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}
    if parameters is not None:
        devices["config"] = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": devices},
    }


def answer(api: Api, document: Json) -> str:
    """Create something as a dry run; return `let in`, `denied`, or the words of another refusal."""
    try:
        api.create(document, dryRun="All")
    except ApiError as error:
        return "denied" if DENIED in error.message else error.message
    return "let in"


class Insistence:
    """Sends a bad config again and again while something else happens.

    Attributes:
        answers: How often each answer came.
        gap: The longest time without a denial, in seconds.
    """

    def __init__(self, plane: ControlPlane, every: float = 0.02) -> None:
        self.answers: Counter[str] = Counter()
        self.gap = 0.0
        self._api = plane.api()
        self._every = every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._insist, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def _insist(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(self._every):
            given = answer(self._api, device_class(BAD))
            self.answers[given] += 1
            now = time.monotonic()
            if given == "denied":
                self.gap = max(self.gap, now - last)
                last = now
