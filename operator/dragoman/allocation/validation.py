"""The claims of a pod, made ready for a search on any node, and the scheduler's validation.

What does not depend on the node is computed here once: classes, compiled selectors, and the errors
that the scheduler finds before it searches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dragoman.allocation.asks import ALL, EXACT_COUNT, PreparedAsk
from dragoman.allocation.claimfacts import Ask, ClaimSpec, Request
from dragoman.allocation.environment import Environment
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.reasons import Code

LIMIT: Final = 32
"""Devices that a claim can hold (API: AllocationResultsMaxSize)."""
Count = Callable[[PreparedAsk], int]


class PreparedRequest:
    """A request: one ask, or the alternatives of a list, as far as they are valid."""

    __slots__ = ("alternatives", "asks", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.asks: list[PreparedAsk] = []
        self.alternatives = bool(request.first_available)

    @property
    def complete(self) -> bool:
        """Whether every ask is valid."""
        return len(self.asks) == max(len(self.request.first_available), 1)


def _asks(request: Request) -> Sequence[Ask]:
    if request.first_available:
        return request.first_available
    return () if request.exactly is None else (request.exactly,)


PLACE: Final = "\0"


def placeholder(index: int) -> str:
    """Return what stands for the name of a claim, until the claim is known."""
    return f"{PLACE}{index}{PLACE}"


def named(text: str, names: Sequence[str]) -> str:
    """Put the names of claims into a text."""
    for index, name in enumerate(names):
        text = text.replace(placeholder(index), name)
    return text


class Prepared:
    """The specs of all claims of a pod in their order, as far as validation got.

    Pods of one template have the same specs, and share what is remembered here.

    Attributes:
        claims: The specs.
        requests: For each of them its requests.
        profile: Which scheduler decides.
        remembered: Results of searches, for nodes that look alike.
    """

    def __init__(self, claims: Sequence[ClaimSpec], environment: Environment) -> None:
        self.claims = tuple(claims)
        self.profile = environment.profile
        self.requests: list[list[PreparedRequest]] = [[] for _ in claims]
        self.remembered: dict[object, Any] = {}
        self._environment = environment
        self._error: FatalProblemError | None = None
        try:
            for index, claim in enumerate(claims):
                for request in claim.requests:
                    self._check(request, placeholder(index))
                    prepared = PreparedRequest(request)
                    self.requests[index].append(prepared)
                    for ask in _asks(request):
                        prepared.asks.append(self._ask(ask, request, claim, placeholder(index)))
                self._check_constraints(claim, placeholder(index))
        except FatalProblemError as error:
            self._error = error
        self._scans = any(
            ask.everything for requests in self.requests for one in requests for ask in one.asks
        )
        self._valid = False

    def validate(self, count: Count) -> None:
        """Raise the first error that the scheduler finds before it searches.

        Args:
            count: Counts the devices of a request for all of them, and may raise.

        Raises:
            FatalProblemError: With the scheduler's text.
        """
        if self._valid:
            return
        for index, (claim, requests) in enumerate(zip(self.claims, self.requests, strict=True)):
            total = 0
            place = placeholder(index)
            for request in requests:
                counts = [count(ask) if ask.everything else ask.ask.count for ask in request.asks]
                self._raise_unless(request.complete)
                total += self._checked(min(counts), total, place, request)
            self._raise_unless(len(requests) == len(claim.requests))
            if total > LIMIT:
                raise FatalProblemError(
                    Code.TOO_MANY_DEVICES,
                    f"claim {place}: number of requested devices {total} "
                    f"exceeds the claim limit of {LIMIT}",
                )
            self._check_constraints(claim, place)
        self._valid = not self._scans

    def _raise_unless(self, complete: bool) -> None:  # noqa: FBT001 — the condition itself
        if not complete and self._error is not None:
            raise FatalProblemError(self._error.code, str(self._error))

    def _checked(self, least: int, total: int, place: str, request: PreparedRequest) -> int:
        if self.profile.new and least > LIMIT - total:
            raise FatalProblemError(
                Code.TOO_MANY_DEVICES,
                f"claim {place}, request {request.request.name}: adding {least} devices "
                f"exceeds the claim limit of {LIMIT}, with {total} already accounted for",
            )
        return least

    def _check(self, request: Request, place: str) -> None:
        features = self.profile.features
        within = f"claim {place}, request {request.name}"
        if request.first_available and not features.PrioritizedList:
            raise FatalProblemError(
                Code.FEATURE_DISABLED,
                f"{within}: has subrequests, but the DRAPrioritizedList feature is disabled",
            )
        if not request.first_available and request.exactly is None:
            raise FatalProblemError(Code.INVALID_REQUEST, f"{within}: unknown request type")
        if not features.ConsumableCapacity and not self.profile.stable:
            _refuse_capacity(request, place)

    def _ask(self, ask: Ask, request: Request, claim: ClaimSpec, place: str) -> PreparedAsk:
        self._check_ask(ask, place)
        kind = self._environment.classes.get(ask.class_name)
        within = f"claim {place}, request {ask.name}"
        if kind is None:
            raise FatalProblemError(
                Code.CLASS_NOT_FOUND,
                f"{within}: could not retrieve device class {ask.class_name}: "
                f'deviceclass.resource.k8s.io "{ask.class_name}" not found',
            )
        if ask.mode not in (EXACT_COUNT, ALL):
            raise FatalProblemError(
                Code.INVALID_REQUEST, f"{within}: unsupported count mode {ask.mode}"
            )
        return PreparedAsk(
            ask, request, claim, place=place, kind=kind, environment=self._environment
        )

    def _check_ask(self, ask: Ask, place: str) -> None:
        within = f"claim {place}, request {ask.name}"
        features = self.profile.features
        if self.profile.new and ask.derived_attributes and not features.DerivedAttributes:
            raise FatalProblemError(
                Code.FEATURE_DISABLED,
                f"{within}: cannot handle request with derived attributes, the feature is disabled",
            )
        for index, selector in enumerate(ask.selectors):
            if selector is None:
                raise FatalProblemError(
                    Code.INVALID_REQUEST,
                    f"{within}, selector #{index}: "
                    "CEL expression empty (unsupported selector type?)",
                )
        if ask.admin_access is not None and not features.AdminAccess:
            raise FatalProblemError(
                Code.FEATURE_DISABLED,
                f"{within}: admin access is requested, but the feature is disabled",
            )
        if not ask.class_name:
            raise FatalProblemError(
                Code.INVALID_REQUEST,
                f"{within}: missing device class name (unsupported request type?)",
            )

    def _check_constraints(self, claim: ClaimSpec, place: str) -> None:
        distinct = self.profile.features.ConsumableCapacity or not self.profile.stable
        for index, constraint in enumerate(claim.constraints):
            if constraint.match_attribute is not None:
                continue
            if constraint.distinct_attribute is None or not distinct:
                raise FatalProblemError(
                    Code.INVALID_REQUEST,
                    f"claim {place}, constraint #{index}: "
                    "empty constraint (unsupported constraint type?)",
                )


def _refuse_capacity(request: Request, place: str) -> None:
    refused = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    if request.exactly is not None and request.exactly.capacity is not None:
        raise FatalProblemError(
            Code.FEATURE_DISABLED, f"claim {place}, request {request.name}: {refused}"
        )
    for ask in request.first_available:
        if ask.capacity is not None:
            raise FatalProblemError(
                Code.FEATURE_DISABLED, f"claim {place}, subrequest {ask.name}: {refused}"
            )
