"""Devices of an allocation."""

from unittest.mock import patch

import pytest

from dragoman.model import allocated
from dragoman.model.allocated import AllocatedDevice, Details
from dragoman.model.claim import Claim
from dragoman.model.claimcontent import parse_claim
from dragoman.model.fields import MalformedObjectError
from dragoman.model.taints import Toleration

RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}


def claim(**more: object) -> Claim:
    results = [{**RESULT, **more}]
    return Claim.parse(
        {
            "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
            "status": {"allocation": {"devices": {"results": results}}},
        }
    )


def test_a_claim_without_allocation_has_no_devices() -> None:
    assert Claim.parse({"metadata": {"name": "c", "uid": "u"}}).devices == ()


def test_a_result_is_kept_with_its_tolerations() -> None:
    tolerations = [{"key": "broken", "operator": "Exists", "tolerationSeconds": 10**12}, {}]
    found = claim(
        adminAccess=True, shareID="s", consumedCapacity={"memory": "1Gi"}, tolerations=tolerations
    )
    assert found.devices == (
        AllocatedDevice(
            "gpu.example.com",
            "node-1",
            "gpu-0",
            "gpu",
            Details(
                admin=True,
                share="s",
                consumed=(("memory", "1Gi"),),
                tolerations=(Toleration("broken", "Exists", "", "", 10**12), Toleration()),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("field", "value"), [("device", None), ("tolerations", [{"tolerationSeconds": "5"}])]
)
def test_a_malformed_result_names_the_field(field: str, value: object) -> None:
    with pytest.raises(MalformedObjectError, match=r"status\.allocation\.devices\.results\[0\]\."):
        claim(**{field: value})


def test_each_result_is_parsed_once_also_with_the_content() -> None:
    results = [{"driver": "d", "pool": "p", "device": f"gpu-{index}"} for index in range(8)]
    document = {
        "metadata": {"name": "c", "uid": "u"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    with patch.object(allocated, "_result", side_effect=allocated._result) as parsed:
        found = parse_claim(document)
    assert parsed.call_count == len(found.devices) == 8
