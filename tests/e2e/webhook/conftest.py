"""Fixtures: the CRD of DriverConfigSchema on the control plane, removed afterwards."""

from collections.abc import Iterator

import pytest

from dragoman.controllers.driverconfigschemas import catalogue
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane

CRD = catalogue.definition()["metadata"]["name"]


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
    """Install the CRD and wait until it is served."""
    plane.api().create(catalogue.definition())
    wait_for(lambda: serves(plane), message="the CRD is not served")


def remove(plane: ControlPlane) -> None:
    """Remove the CRD with all objects and wait until it is gone."""
    api = plane.api()
    api.delete("customresourcedefinitions", CRD)
    wait_for(lambda: api.find("customresourcedefinitions", CRD) is None, message="the CRD stays")


def serves(plane: ControlPlane) -> bool:
    """Whether objects of the CRD can be listed."""
    try:
        plane.api().list(CRD)
    except ApiError as error:
        if error.code not in {404, 429}:
            raise
        return False
    except KeyError:  # not discovered yet
        return False
    return True
