"""What containerd is told about devices follows the rules of the Container Device Interface."""

import re
from pathlib import Path

import pytest

from dragoman_drivers.pretend import cdi

UID = "0f6f3f3e-5a0c-4f2e-9d58-6f6a3b1c2d4e"
VENDOR = CLASS = r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
DEVICE = r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?"
VARIABLE = r"[A-Z_][A-Z0-9_]*"


@pytest.mark.parametrize("driver", ["gpu.example.com", "5g.example.com", "a", "a-1.b"])
@pytest.mark.parametrize("device", ["device-0", "0", "a", "gpu-0-mig-1"])
def test_names_are_valid_for_every_driver_and_device(driver: str, device: str) -> None:
    document = cdi.document(
        driver, UID, {(device, ""): {"label": "x"}}, {device: Path("/some/file")}
    )
    assert re.fullmatch(f"{VENDOR}/{CLASS}", document["kind"])
    (described,) = document["devices"]
    assert re.fullmatch(DEVICE, described["name"])
    assert cdi.device_id(driver, UID, device) == f"{document['kind']}={described['name']}"
    assert re.fullmatch(r"[\w.-]+\.json", cdi.file_name(driver, UID))
    for variable in described["containerEdits"]["env"]:
        name, _, value = variable.partition("=")
        assert re.fullmatch(VARIABLE, name)
        assert value


def test_containers_do_not_see_values_of_secret_fields() -> None:
    parameters = {"licenseToken": "t0p", "nested": [{"password": "s3cret"}], "mode": "Shared"}
    found = str(cdi.edits("device-0", UID, parameters, Path("/some/file")))
    assert "t0p" not in found
    assert "s3cret" not in found
    assert "Shared" in found
