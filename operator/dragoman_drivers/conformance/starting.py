"""Starts of a driver: how long one may take, and which rule it breaks where it comes to no end.

A driver that did not start in time is not waited for again: every other check would wait as long,
and say the same. Once it has started, a later start may take a few times as long as the others.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_drivers.conformance import slicerules
from dragoman_drivers.conformance.checks import FailedError
from dragoman_drivers.conformance.proxy import RecordedRequest

START_SECONDS = 90.0
"""For a driver to register, and again to publish, on a busy machine."""
SHORTEST_SECONDS = 15.0
TIMES = 3.0
"""How much longer than the slowest start one may take, after one that came to no end."""
REFUSALS = (400, 403, 422)


class StartError(FailedError):
    """The driver did not start.

    Attributes:
        rule: The check that says what it must do; empty where the driver ended.
    """

    def __init__(self, problem: str, rule: str = "") -> None:
        super().__init__(problem)
        self.rule = rule


class Starts:
    """How the starts of a run went; its lanes share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slowest = 0.0
        self._failure: tuple[str, str] | None = None

    @property
    def hopeless(self) -> StartError | None:
        """Why the driver did not start, unless it has started at any time."""
        return StartError(*self._failure) if self._failure and not self._slowest else None

    def limit(self) -> float:
        """Return the seconds for the next start; raise StartError where none is worth a wait."""
        with self._lock:
            if error := self.hopeless:
                raise error
            shorter = max(SHORTEST_SECONDS, TIMES * self._slowest)
            return min(START_SECONDS, shorter) if self._failure else START_SECONDS

    def succeeded(self, seconds: float) -> None:
        """Note a start and how long it took."""
        with self._lock:
            self._slowest = max(self._slowest, seconds)

    def failed(self, error: StartError) -> StartError:
        """Note a start that came to no end; return what the run says of it, on each node."""
        with self._lock:
            self._failure = self._failure or (str(error), error.rule)
            return self.hopeless or error


def unregistered(seconds: float, sockets: Sequence[str], answer: str, log: str) -> StartError:
    """Return what is wrong with a driver that runs and does not register.

    Args:
        seconds: How long it was waited for.
        sockets: Names in the registry folder.
        answer: The error of GetInfo, if it was called.
        log: The end of the driver's log.
    """
    rule = "R2" if answer else "R1"
    found = answer or f"sockets in the registry folder: {', '.join(sockets) or 'none'}"
    return StartError(f"{rule}: not registered after {seconds:g} s; {found}; log: {log}", rule)


def unpublished(
    name: str,
    seconds: float,
    slices: Sequence[Mapping[str, Any]],
    requests: Sequence[RecordedRequest],
) -> StartError:
    """Return what is wrong with a driver that registered, and has no complete pool.

    Args:
        name: Of the driver, as GetInfo says.
        seconds: How long it was waited for.
        slices: ResourceSlices of its node.
        requests: What it asked the API server for.
    """
    own = [one for one in slices if one["spec"]["driver"] == name]
    others = sorted({one["spec"]["driver"] for one in slices} - {name})
    refused = [one for one in requests if one.code in REFUSALS and one.concerns("resourceslices")]
    rule, problem = "S1", slicerules.complete(own) or "no slice of the driver names the node"
    if wrong := slicerules.driver_name(name):
        rule, problem = "N1", wrong
    elif refused:
        last = refused[-1]
        rule = "X3" if last.code == 403 else "S18" if "sharedCounters" in last.message else "S10"
        path = last.path.partition("?")[0]
        problem = f"the API server answers {last.code} to {last.method} {path} {last.message}"
    elif others and not own:
        rule, problem = "R2", f"GetInfo says {name}, the slices say {', '.join(others)}"
    there = f"after {seconds:g} s these are published: {published(slices)}"
    return StartError(f"{rule}: {problem.rstrip()}; {there}", rule)


def published(slices: Sequence[Mapping[str, Any]]) -> str:
    """Return the pools of slices in words: driver, name, generation, slices, devices."""
    found: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for one in slices:
        pool = one["spec"]["pool"]
        found.setdefault((one["spec"]["driver"], pool["name"], pool["generation"]), []).append(one)
    return (
        "; ".join(
            f"pool {driver}/{name}, generation {generation}, {len(ones)} of "
            f"{ones[0]['spec']['pool']['resourceSliceCount']} slices, "
            f"{sum(1 for _ in slicerules.devices(ones))} devices"
            for (driver, name, generation), ones in sorted(found.items(), key=lambda one: one[0])
        )
        or "no slices"
    )
