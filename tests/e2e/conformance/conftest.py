"""A control plane of the kit, for all tests here."""

from collections.abc import Iterator

import pytest

from dragoman_drivers.conformance.running import SERVER_FLAGS
from dragoman_drivers.throwaway.plane import Plane
from tests.support.controlplane import binaries


@pytest.fixture(scope="package")
def throwaway() -> Iterator[Plane]:
    """Return etcd and an API server without any controller."""
    with Plane(binaries.find(["etcd", "kube-apiserver"]), SERVER_FLAGS) as plane:
        yield plane
