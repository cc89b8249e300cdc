"""What kubelets would report: pods that have a node are Ready, and deleted pods go."""

import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from urllib3.exceptions import HTTPError

from tests.support.controlplane.api import Api, ApiError

INTERVAL = 0.2
"""Seconds between two looks at all pods."""
GONE_OR_CHANGED = (404, 409, 422)


class Kubelets:
    """Report the pods of all nodes in a thread, as long as the block runs.

    Args:
        api: An administrator's client.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            try:
                for pod in self._api.list("pods"):
                    self._attend(pod)
            except HTTPError:  # the API server is busy, or ends
                continue
            except ApiError as error:  # a thread that ended would let specs wait without a reason
                print(f"kubelets: {error}; trying again", file=sys.stderr, flush=True)

    def _attend(self, pod: Mapping[str, Any]) -> None:
        metadata = pod["metadata"]
        place = (metadata["name"], metadata["namespace"])
        if not pod["spec"].get("nodeName"):
            return
        try:
            if "deletionTimestamp" in metadata:
                self._api.delete("pods", *place, gracePeriodSeconds=0)
            elif pod["status"].get("phase") == "Pending":
                self._api.patch("pods", *place, {"status": running(pod)}, subresource="status")
        except ApiError as error:
            if error.code not in GONE_OR_CHANGED:
                raise


def running(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a pod whose containers run."""
    ready = [
        {"type": kind, "status": "True"}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    containers = [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "none",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}},
        }
        for container in pod["spec"]["containers"]
    ]
    return {"phase": "Running", "conditions": ready, "containerStatuses": containers}
