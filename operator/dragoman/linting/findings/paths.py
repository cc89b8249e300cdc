"""Paths as the API machinery writes them."""

from dragoman.driverconfigs import fielderrors
from dragoman.linting.findings.finding import Steps


def render(steps: Steps) -> str:
    """Write `("spec", "requests", 0)` as `spec.requests[0]`."""
    return fielderrors.render(steps).removeprefix(".")
