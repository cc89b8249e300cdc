"""Counters of slices as Kubernetes 1.34 validates them: beside the devices that consume them.

Source: k8s.io/kubernetes v1.34.4, pkg/apis/resource/validation. Later versions hold counters in a
slice of their own (KEP-4815) and check no reference.
"""

from typing import Any

from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text
from dragoman_toolkit.linting.validation.errors import Errors

MAX_SHARED = 32
MAX_OF_DEVICE = 32
MAX_OF_SLICE = 1024
_IN_SLICE = "defined in the ResourceSlice sharedCounters"


def check_counters_together(errors: Errors, devices: list[dict[str, Any]], sets: list[Any]) -> None:
    """Check that devices consume counters of their own slice, and the sums of both."""
    known = {text(mapping(one).get("name")): mapping(mapping(one).get("counters")) for one in sets}
    shared = sum(len(mapping(mapping(one).get("counters"))) for one in sets)
    if shared > MAX_SHARED:
        detail = f"the total number of shared counters must not exceed {MAX_SHARED}"
        errors.invalid(("spec", "sharedCounters"), shared, detail)
    total = sum(_check_device(errors, index, one, known) for index, one in enumerate(devices))
    if total > MAX_OF_SLICE:
        detail = f"the total number of counters in devices must not exceed {MAX_OF_SLICE}"
        errors.invalid(("spec", "devices"), total, detail)


def _check_device(
    errors: Errors, index: int, device: dict[str, Any], known: dict[str, dict[str, Any]]
) -> int:
    steps = ("spec", "devices", index)
    count = 0
    for number, one in enumerate(map(mapping, sequence(device.get("consumesCounters")))):
        place = (*steps, "consumesCounters", number)
        name, counters = text(one.get("counterSet")), mapping(one.get("counters"))
        count += len(counters)
        if name not in known:
            errors.invalid((*place, "counterSet"), name, f"must reference a counterSet {_IN_SLICE}")
            continue
        for counter in counters:
            if counter not in known[name]:
                detail = f"must reference a counter {_IN_SLICE}"
                errors.invalid((*place, "counters"), counter, detail)
    if count > MAX_OF_DEVICE:
        detail = f"the total number of counters must not exceed {MAX_OF_DEVICE}"
        errors.invalid(steps, count, detail)
    return count
