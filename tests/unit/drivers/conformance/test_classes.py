"""Shipped DeviceClasses: what they select of their own driver's devices, and of others'."""

import pytest

from dragoman_drivers.conformance import classes

SLICE = {
    "spec": {
        "driver": "gpu.example.com",
        "devices": [{"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}],
    }
}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("device.driver == 'gpu.example.com'", ""),
        (
            """device.driver == 'gpu.example.com'
            && device.attributes['gpu.example.com'].type == 'gpu'""",
            "",
        ),
        ("device.driver == 'gpu.exmaple.com'", "selects none of 1 devices"),
        ("true", "of other drivers too"),
        ("device.attributes['gpu.example.com'].type == 'gpu'", "fails on devices of other drivers"),
        ("device.driver ==", "DeviceClass gpu"),
    ],
)
def test_a_class_selects_devices_of_its_driver_alone(expression: str, problem: str) -> None:
    one = {
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    found = classes.problem([one], [SLICE])
    assert problem in found
    assert bool(found) == bool(problem)
