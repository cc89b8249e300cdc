"""N5: DeviceClasses as a driver ships them, against the devices that it publishes. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman_cel import selectors as cel
from dragoman_cel.environment import COST_LIMIT
from dragoman_cel.errors import CompileError, EvaluationError
from dragoman_cel.selectors import Selector
from dragoman_drivers.conformance.slicerules import devices

FOREIGN = "another.example.com"
"""A driver whose devices have the same attributes, each in its own domain."""
Json = Mapping[str, Any]


def problem(classes: Sequence[Json], slices: Sequence[Json]) -> str:
    """Return what is wrong with a driver's classes; the empty text for nothing.

    A class selects one published device or more, and none of another driver: without a comparison
    of `device.driver`, a class takes devices of others, or fails on them and stops the scheduler.

    Args:
        classes: DeviceClasses.
        slices: ResourceSlices of the driver.
    """
    driver = slices[0]["spec"]["driver"] if slices else ""
    published = [*devices(slices)]
    for one in classes:
        name = one["metadata"]["name"]
        try:
            selectors = [*_selectors(one)]
            chosen = [d["name"] for d in published if _matches(selectors, d, driver)]
        except (CompileError, EvaluationError) as error:
            return f"DeviceClass {name}: {error}"
        if costly := [s.expression for s in selectors if s.max_cost > COST_LIMIT]:
            return f"DeviceClass {name}: the API server rejects the cost of {costly[0]}"
        if not chosen:
            return f"DeviceClass {name} selects none of {len(published)} devices"
        try:
            foreign = any(_matches(selectors, d, FOREIGN) for d in published)
        except EvaluationError as error:
            return f"DeviceClass {name} fails on devices of other drivers: {error}"
        if foreign:
            return f"DeviceClass {name} selects devices of other drivers too"
    return ""


def _selectors(one: Json) -> Iterator[Selector]:
    for entry in one.get("spec", {}).get("selectors") or ():
        yield cel.compile((entry.get("cel") or {}).get("expression", ""))


def _matches(selectors: Sequence[Selector], device: Json, driver: str) -> bool:
    return all(one.matches(device, driver=driver) for one in selectors)
