"""Fixtures: the CRD of DriverConfigSchema on the control plane, removed afterwards."""

from collections.abc import Iterator

import pytest

from dragoman_configs import catalog
from tests.support.controlplane.api import Api
from tests.support.controlplane.plane import ControlPlane

CRD = catalog.definition()["metadata"]["name"]


@pytest.fixture(scope="package")
def _crd(plane: ControlPlane) -> Iterator[None]:
    install(plane)
    yield
    remove(plane)


@pytest.fixture
def schemas(plane: ControlPlane, _crd: None) -> Iterator[Api]:
    """Serve DriverConfigSchemas, none at first; gives a client that knows them."""
    api = plane.api()
    yield api
    api.delete_all(CRD)


def install(plane: ControlPlane) -> None:
    """Install the CRD and wait until it is served; one that others left is removed first."""
    remove(plane)
    plane.define(catalog.definition())


def remove(plane: ControlPlane) -> None:
    """Remove the CRD with all objects and wait until it is gone."""
    plane.undefine(CRD)
