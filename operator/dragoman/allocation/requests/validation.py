"""The claims of a pod, made ready for a search on any node, and the scheduler's validation.

What does not depend on the node is computed here once: classes, compiled selectors, and the errors
that the scheduler finds before it searches.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dragoman.allocation.codes import Code
from dragoman.allocation.pools.nodepools import SearchKey
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.environment import ClassEnvironment
from dragoman.allocation.requests.request import ALL, EXACT_COUNT, PreparedRequest
from dragoman.model.requests import ClaimSpec, ExactRequest, Request

LIMIT = 32
"""Devices that a claim can hold (API: AllocationResultsMaxSize)."""
Count = Callable[[PreparedRequest], int]
_REMEMBERED = 8192
_ENTRIES = 8
"""What the result of a search weighs, in entries of a dictionary."""


class TopLevelRequest:
    """A request of a claim, as far as it is valid.

    Attributes:
        request: The facts.
        alternatives: The subrequests in their order; a request without a list is its only one.
        prioritized: Whether there is a list.
    """

    __slots__ = ("alternatives", "prioritized", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.alternatives: list[PreparedRequest] = []
        self.prioritized = bool(request.first_available)

    @property
    def complete(self) -> bool:
        """Whether every alternative is valid."""
        return len(self.alternatives) == max(len(self.request.first_available), 1)


PLACE = "\0"


def placeholder(index: int) -> str:
    """Return the placeholder for the name of a claim that is not known yet."""
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
    """

    def __init__(self, claims: Sequence[ClaimSpec], environment: ClassEnvironment) -> None:
        self.claims = tuple(claims)
        self.profile = environment.profile
        self.requests: list[list[TopLevelRequest]] = [[] for _ in claims]
        self._remembered: OrderedDict[SearchKey, Any] = OrderedDict()
        self._environment = environment
        self._error: FatalProblemError | None = None
        try:
            for index, claim in enumerate(claims):
                for request in claim.requests:
                    self._check(request, placeholder(index))
                    prepared = TopLevelRequest(request)
                    self.requests[index].append(prepared)
                    for exact in request.alternatives:
                        prepared.alternatives.append(
                            self._prepare(exact, request, claim, placeholder(index))
                        )
                self._check_constraints(claim, placeholder(index))
        except FatalProblemError as error:
            self._error = error
        self._scans = any(request.everything for request in self.everything())
        self._valid = False

    def everything(self) -> Iterator[PreparedRequest]:
        """Yield all requests and subrequests."""
        for requests in self.requests:
            for top in requests:
                yield from top.alternatives

    def twin(self, request: PreparedRequest) -> PreparedRequest | None:
        """Return the subrequest whose devices the scheduler of 1.34 and 1.35 takes for a request's.

        Of two subrequests for all devices, the first ones of a list, it remembers under one number
        which devices selectors match, and so does not look at the selectors of the second.
        """
        for requests in self.requests:
            for top in requests:
                if request in top.alternatives[1:2] and top.alternatives[0].everything:
                    return top.alternatives[0]
        return None

    def remembered(self, key: SearchKey) -> Any:
        """Return the result of a search on a node that looks alike, None if none is known."""
        return self._remembered.get(key)

    @property
    def size(self) -> int:
        """How many results of searches are remembered."""
        return len(self._remembered)

    def remember(self, key: SearchKey, result: object) -> None:
        """Remember the result of a search; the oldest ones are dropped."""
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.popitem(last=False)
        else:
            self._environment.entries += _ENTRIES
        self._remembered[key] = result

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
                counts = [
                    count(one) if one.everything else one.exact.count
                    for one in request.alternatives
                ]
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

    def _checked(self, least: int, total: int, place: str, request: TopLevelRequest) -> int:
        if self.profile.devices_limited and least > LIMIT - total:
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

    def _prepare(
        self, exact: ExactRequest, request: Request, claim: ClaimSpec, place: str
    ) -> PreparedRequest:
        self._check_exact(exact, place)
        kind = self._environment.classes.get(exact.class_name)
        within = f"claim {place}, request {exact.name}"
        if kind is None:
            raise FatalProblemError(
                Code.CLASS_NOT_FOUND,
                f"{within}: could not retrieve device class {exact.class_name}: "
                f'deviceclass.resource.k8s.io "{exact.class_name}" not found',
            )
        if exact.mode not in (EXACT_COUNT, ALL):
            raise FatalProblemError(
                Code.INVALID_REQUEST, f"{within}: unsupported count mode {exact.mode}"
            )
        return PreparedRequest(
            exact, request, claim, place=place, kind=kind, environment=self._environment
        )

    def _check_exact(self, exact: ExactRequest, place: str) -> None:
        within = f"claim {place}, request {exact.name}"
        features = self.profile.features
        if (
            self.profile.derived_attributes
            and exact.derived_attributes
            and not features.DerivedAttributes
        ):
            raise FatalProblemError(
                Code.FEATURE_DISABLED,
                f"{within}: cannot handle request with derived attributes, the feature is disabled",
            )
        for index, selector in enumerate(exact.selectors):
            if selector is None:
                raise FatalProblemError(
                    Code.INVALID_REQUEST,
                    f"{within}, selector #{index}: "
                    "CEL expression empty (unsupported selector type?)",
                )
        if exact.admin_access is not None and not features.AdminAccess:
            raise FatalProblemError(
                Code.FEATURE_DISABLED,
                f"{within}: admin access is requested, but the feature is disabled",
            )
        if not exact.class_name:
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
    for exact in request.first_available:
        if exact.capacity is not None:
            raise FatalProblemError(
                Code.FEATURE_DISABLED, f"claim {place}, subrequest {exact.name}: {refused}"
            )
