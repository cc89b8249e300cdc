"""Fixtures: helm, built before the first test."""

import pytest

from tests.support.controlplane import binaries


@pytest.fixture(scope="session", autouse=True)
def _helm(request: pytest.FixtureRequest) -> None:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find(["helm"])
