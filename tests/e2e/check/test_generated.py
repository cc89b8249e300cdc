"""What the check calls errors the real API server refuses, and what it passes the server takes."""

import os

import pytest

from tests.e2e.check.differences import differences, plane_of

COUNT = int(os.environ.get("DRAGOMAN_MANIFESTS", "420"))
SEED = int(os.environ.get("DRAGOMAN_SEED", "1"))


@pytest.mark.parametrize("version", ["v1.36.3", pytest.param("v1.34.4", marks=pytest.mark.slow)])
def test_the_check_and_the_api_server_agree(version: str) -> None:
    with plane_of(version) as plane:
        found, refused = differences(plane, SEED, COUNT)
    assert found == [], "".join(map(str, found[:10]))
    assert COUNT // 5 < refused < COUNT * 4 // 5
