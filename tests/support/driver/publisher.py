"""Keep a node's devices published: a kubelet that starts deletes all ResourceSlices of its node."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from urllib3.exceptions import HTTPError

from tests.support.controlplane import objects
from tests.support.controlplane.api import Api, ApiError

LOOKS = 0.5
"""Seconds between two looks whether the devices are still published."""
Devices = int | Sequence[str | Mapping[str, Any]]
"""As `objects.resource_slice` takes them."""


class Publisher:
    """Publish devices again and again, for as long as it is started.

    Args:
        api: Acts as the driver.
        node: Name of the node.
        devices: On that node.
        driver: Name of the driver.
    """

    def __init__(self, api: Api, node: str, devices: Devices, driver: str) -> None:
        self._api = api
        self._node = node
        self._manifest = objects.resource_slice(node, devices, driver)
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Publish, and look from now on."""
        self._stopped.clear()
        self._threads.append(threading.Thread(target=self._keep_published, daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        """Look no longer; what is published stays."""
        self._stopped.set()
        while self._threads:
            self._threads.pop().join()

    def published(self) -> bool:
        """Whether the API server knows the devices."""
        return self._api.find("resourceslices", self._manifest["metadata"]["name"]) is not None

    def _keep_published(self) -> None:
        while True:
            with suppress(ApiError, HTTPError):  # no node yet, or no API server: look again
                self._publish()
            if self._stopped.wait(LOOKS):
                return

    def _publish(self) -> None:
        if not self.published():
            node = {"apiVersion": "v1", "kind": "Node"} | self._api.get("nodes", self._node)
            owner = objects.owner_reference(node) | {"blockOwnerDeletion": False}
            meta = self._manifest["metadata"] | {"ownerReferences": [owner]}
            self._api.create(self._manifest | {"metadata": meta})
