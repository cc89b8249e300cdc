"""S and N: rules about what is published, applied to the slices that are there."""

from collections.abc import Callable, Sequence
from typing import Any

from dragoman_drivers.conformance import classes, slicerules
from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site

Rule = Callable[[Sequence[Any]], str]


def _register(check: str, rule: Rule) -> None:
    def run(site: Site) -> str:
        site.wait(lambda: site.slices(everything=True), 30, "slices")
        slices = site.slices(everything=True)
        problem = rule(slices)
        need(not problem, problem)
        return f"{len(slices)} slices"

    scenario(check, "published")(run)


for _check, _rule in slicerules.RULES.items():
    _register(_check, _rule)


@scenario("N1", "published")
def driver_name(site: Site) -> None:
    """The driver's name is lower case DNS."""
    for name in {site.driver, *(one["spec"]["driver"] for one in site.slices(everything=True))}:
        problem = slicerules.driver_name(name)
        need(not problem, problem)


@scenario("N5", "published")
def shipped_classes(site: Site) -> str:
    """A shipped DeviceClass selects devices of this driver, and of no other."""
    found = [one for one in site.setting.shipped if one.get("kind") == "DeviceClass"]
    if not found:
        raise NotRunError("without --manifests there is no shipped DeviceClass")
    problem = classes.problem(found, site.slices())
    need(not problem, problem)
    return f"{len(found)} classes"
