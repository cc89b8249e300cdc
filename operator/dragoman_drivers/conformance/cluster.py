"""Read-only checks of what drivers publish on an existing cluster. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman import __version__
from dragoman_drivers.conformance import slicerules
from dragoman_drivers.conformance.checks import (
    FAIL,
    NOT_RUN,
    PASS,
    Check,
    CheckOutcome,
    ConformanceReport,
    digest,
)

RULES = {
    **slicerules.RULES,
    "S4": slicerules.own_pools,
    "S5": slicerules.owned,
    "S10": slicerules.limits,
}


def check(
    slices: Sequence[Mapping[str, Any]], driver: str, selected: Sequence[Check]
) -> ConformanceReport:
    """Return what slices say about a driver.

    Args:
        slices: ResourceSlices of a cluster.
        driver: Whose slices count; may be empty where only one driver publishes.
        selected: Checks to run; all that need a kubelet are not run.

    Raises:
        ValueError: The driver publishes nothing, or several do and none is named.
    """
    drivers = sorted({one["spec"]["driver"] for one in slices})
    name = driver or (drivers[0] if len(drivers) == 1 else "")
    if name not in drivers:
        raise ValueError(f"name one of the drivers by --driver: {', '.join(drivers) or 'none'}")
    own = [one for one in slices if one["spec"]["driver"] == name]
    outcomes = tuple(_outcome(one, own, name) for one in selected)
    return ConformanceReport(name, "", outcomes, {"kit": __version__, "checks": digest()})


def _outcome(check: Check, slices: Sequence[Mapping[str, Any]], driver: str) -> CheckOutcome:
    if check.id == "N1":
        problem = slicerules.driver_name(driver)
    elif check.id in RULES:
        problem = RULES[check.id](slices)
    else:
        return CheckOutcome(check, NOT_RUN, "--kubeconfig only reads what is published")
    return CheckOutcome(check, FAIL if problem else PASS, problem)
