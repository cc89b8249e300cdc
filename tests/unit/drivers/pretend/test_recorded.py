"""Pretended devices have recorded values, and models without a recording are not invented."""

import pytest

from dragoman_drivers.pretend import shapes as pretended
from dragoman_toolkit.shapes import known


@pytest.mark.parametrize("driver", ["gpu.nvidia.com", "dra.net"])
def test_a_pretended_machine_has_recorded_values(driver: str) -> None:
    (made,) = pretended.parse("aws-p4d.24xlarge", driver)("node-1")
    pool = next(one for one in known.named("aws-p4d.24xlarge").pools if one.driver == driver)
    assert [one["name"] for one in made.devices] == [one["name"] for one in pool.devices]
    for one, origin in zip(made.devices, pool.devices, strict=True):
        assert origin["attributes"].items() <= one["attributes"].items()


@pytest.mark.parametrize(
    ("model", "machine"),
    [("H100", "p5.48xlarge"), ("A100", "p4d.24xlarge"), ("GB200", "BM.GPU.GB200-v3.4")],
)
def test_a_pretended_model_has_the_values_of_its_recording(model: str, machine: str) -> None:
    (one, *_) = pretended.parse(f"gpu.nvidia.com:1x{model}")("n")[0].devices
    common = known.named(machine).pools[0].common
    for name in ("cudaComputeCapability", "productName", "architecture"):
        assert one["attributes"][name] == common["attributes"][name]
    assert one["capacity"] == common["capacity"]


def test_a_model_without_a_recording_is_not_invented() -> None:
    with pytest.raises(pretended.ShapeError, match="B200 of gpu"):
        pretended.parse("gpu.nvidia.com:8xB200")
