"""The claims of a pod, made ready for a search on any node.

What does not depend on the node is computed here once: classes, compiled selectors, the limits and
the errors of the scheduler's validation. What depends on the content of a device is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from dragoman.allocation import attributes, derived
from dragoman.allocation.capacity import Amounts, CapacityError, PolicyError, consumption
from dragoman.allocation.expressions import Expression, Failure, Views, hinted
from dragoman.allocation.facts import (
    Ask,
    Claim,
    Constraint,
    Content,
    DeviceClass,
    DeviceID,
    Request,
    Taint,
    Toleration,
)
from dragoman.allocation.features import Profile

LIMIT: Final = 32
"""Devices that a claim can hold (API: AllocationResultsMaxSize)."""
EXACT_COUNT, ALL = "ExactCount", "All"
_NO_EXPRESSION: Final = Failure("CEL expression empty (unsupported selector type?)", compiling=True)
_EFFECTS: Final = ("NoSchedule", "NoExecute")


class FatalProblemError(Exception):
    """The pod's attempt ends on all nodes; the message is the scheduler's."""


class Devices(Protocol):
    """The devices of a node by position."""

    def id(self, position: int) -> DeviceID:
        """Return the identity of a device, for messages."""


class Environment:
    """What requests are read against: classes and compiled expressions of a cluster."""

    def __init__(self, profile: Profile, classes: Mapping[str, DeviceClass]) -> None:
        self.profile = profile
        self.classes = classes
        self.views = Views(profile)
        self._expressions: dict[str, Expression] = {}
        self._derived: dict[str, derived.Derivation] = {}

    def expression(self, text: str) -> Expression:
        """Compile a selector, once while it is among the last ones used."""
        found = self._expressions.pop(text, None) or Expression(text, self.profile, self.views)
        _remember(self._expressions, text, found)
        return found

    def derivation(self, text: str) -> derived.Derivation:
        """Compile the expression of a derived attribute."""
        found = self._derived.pop(text, None) or derived.Derivation(text, self.profile, self.views)
        _remember(self._derived, text, found)
        return found


_EXPRESSIONS: Final = 256


def _remember(table: dict[str, Any], text: str, value: Any) -> None:
    while len(table) >= _EXPRESSIONS:
        del table[next(iter(table))]
    table[text] = value


class Plan:
    """What one request means for devices of one content.

    Attributes:
        blocked: Why no such device can be taken although it is selectable; empty if it can.
        consumed: What is taken of each capacity; empty without consumable capacity.
        nanos: The same as numbers, beside what the device has.
        alone: Whether a device without other shares has enough.
        shareable: Whether the device allows multiple allocations.
        needs: Counters in nanos by set and name.
    """

    __slots__ = ("alone", "blocked", "consumed", "content", "nanos", "needs", "shareable", "simple")

    def __init__(self, ask: PreparedAsk, content: Content, consumed: Amounts) -> None:
        features = ask.profile.features
        self.content = content
        self.consumed = consumed
        self.nanos = [
            (name, value.nanos, content.capacity[name].value.nanos)
            for name, value in consumed.items()
        ]
        self.alone = all(need <= have for _, need, have in self.nanos)
        self.shareable = features.ConsumableCapacity and content.shareable
        self.needs = _needs(content)
        self.blocked = ""
        if content.consumes and not features.PartitionableDevices:
            self.blocked = "counters"
        elif features.DeviceTaints and untolerated(content.taints, ask.ask.tolerations):
            self.blocked = "taint"
        self.simple = not (self.needs or self.shareable or self.blocked or content.consumes)


def _needs(content: Content) -> dict[tuple[str, str], int]:
    needs: dict[tuple[str, str], int] = {}
    for item in content.consumes:
        for name, value in item.counters.items():
            key = (item.counter_set, name)
            needs[key] = needs.get(key, 0) + value.nanos
    return needs


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint that keeps a device from a request, None if there is none."""
    for taint in taints:
        if taint.effect in _EFFECTS and not any(_tolerates(one, taint) for one in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


class PreparedAsk:
    """A request or subrequest with all that is known about it before a node is looked at.

    Attributes:
        ask: The facts.
        request_name: Name of the (top-level) request.
        full_name: `request` or `request/subrequest`.
        claim: The claim.
        device_class: Its class.
        selectors: Compiled selectors in order of evaluation, with what a message calls them.
        constraints: Indexes of the claim's constraints that apply.
        everything: Whether all devices are asked for.
        admin: Whether admin access is asked for.
        profile: Which scheduler decides.
        known: Whether selectors match, as far as it was asked.
        plans: What the request means for a content, as far as it was asked.
    """

    __slots__ = (
        "_environment", "_values", "admin", "ask", "claim", "constraints",
        "device_class", "everything", "full_name", "known", "plans", "profile", "request_name", "selectors",
    )  # fmt: skip

    def __init__(
        self, ask: Ask, request: str, claim: Claim, kind: DeviceClass, environment: Environment
    ) -> None:
        self.ask = ask
        self.claim = claim
        self.request_name = request
        self.full_name = request if ask.name == request else f"{request}/{ask.name}"
        self.device_class = kind
        self.profile = environment.profile
        self.everything = ask.mode == ALL
        self.admin = ask.admin_access is True
        self._environment = environment
        self.selectors = [
            *_compiled(f"class {kind.name}", kind.selectors, environment),
            *_compiled(f"claim {claim.key}", ask.selectors, environment),
        ]
        self.constraints = [
            index
            for index, constraint in enumerate(claim.constraints)
            if _concerns(constraint, request, self.full_name)
        ]
        self.plans: dict[Content, Plan | None] = {}
        self.known: dict[Content, bool] = {}
        self._values: dict[tuple[int, Content], Any] = {}

    def selectable(self, content: Content, devices: Devices, position: int) -> bool:
        """Tell whether all selectors match.

        Raises:
            FatalProblemError: A selector cannot be evaluated.
        """
        found = self.known.get(content)
        if found is None:
            found = self.known[content] = self._select(content, devices, position)
        return found

    def _select(self, content: Content, devices: Devices, position: int) -> bool:
        if content.binding_conditions and not self.profile.features.DeviceBindingAndStatus:
            return False
        for origin, index, expression in self.selectors:
            result = expression.on(content) if expression else _NO_EXPRESSION
            if result is False:
                return False
            if result is not True:
                device = devices.id(position)
                raise FatalProblemError(self._failed(origin, index, result, device))
        return True

    def _failed(self, origin: str, index: int, failure: Failure, device: DeviceID) -> str:
        where = f"{origin}: selector #{index}"
        if failure.compiling:
            return f"{where}: CEL compile error: {failure.message}"
        if self.profile.new:
            return f"{where} on device {device}: CEL runtime error: {hinted(failure.message)}"
        return f"{where}: CEL runtime error: {failure.message}"

    def plan(
        self, content: Content, devices: Devices, position: int, *, bare: bool = False
    ) -> Plan | None:
        """Return what the request means for a device that its selectors match.

        None stands for a device whose capacity can never serve the request.

        Raises:
            FatalProblemError: The amounts of capacity cannot be computed (1.37).
        """
        if content in self.plans:
            return self.plans[content]
        try:
            plan = Plan(self, content, self.consumption(content))
        except PolicyError:
            plan = None
        except CapacityError as error:
            if self.profile.new:
                device = devices.id(position)
                raise FatalProblemError(
                    f"claim {self.claim.key}, request {self.ask.name}: checking capacity "
                    f"for device {device.device if bare else device}: {error}"
                ) from None
            plan = None
        self.plans[content] = plan
        return plan

    def consumption(self, content: Content) -> Amounts:
        """Return what is taken of each capacity of a device; see `capacity.consumption`."""
        if not self.profile.features.ConsumableCapacity:
            return {}
        return consumption(self.ask.capacity, content.capacity, self.profile)

    def value(self, index: int, content: Content, devices: Devices, position: int) -> Any:
        """Return a tuple of the value that a constraint compares.

        None stands for a device that lacks the attribute.

        Raises:
            FatalProblemError: A derived attribute cannot be evaluated (1.37, alpha).
        """
        key = (index, content)
        if key not in self._values:
            constraint = self.claim.constraints[index]
            self._values[key] = self._value(constraint, content, devices, position)
        return self._values[key]

    def _value(
        self, constraint: Constraint, content: Content, devices: Devices, position: int
    ) -> Any:
        name = constraint.match_attribute
        if name is None:
            name = constraint.distinct_attribute or ""
        expression = dict(self.ask.derived_attributes).get(name)
        if expression is None:
            attribute = attributes.lookup(content, name)
        else:
            attribute = self._derive(name, expression, content, devices.id(position))
        if attribute is None:
            return None
        if self.profile.features.ListTypeAttributes:
            # Lists without elements and attributes without a value satisfy no constraint, except
            # that the 1.36 form of distinctAttribute takes them as the first one.
            return (attributes.elements(attribute),)
        return (attributes.scalar(attribute),)

    def _derive(
        self, name: str, expression: str, content: Content, device: DeviceID
    ) -> Mapping[str, Any]:
        result = self._environment.derivation(expression).on(content)
        if not isinstance(result, Failure):
            return result
        if result.compiling:
            raise FatalProblemError(f"compile derived attribute {name} failed: {result.message}")
        raise FatalProblemError(
            f"evaluate derived attribute {name} on device {device} failed: {result.message}"
        )


def _compiled(
    origin: str, texts: Sequence[str | None], environment: Environment
) -> Iterator[tuple[str, int, Expression | None]]:
    for index, text in enumerate(texts):
        yield origin, index, None if text is None else environment.expression(text)


def _concerns(constraint: Constraint, request: str, full_name: str) -> bool:
    names = constraint.requests
    return not names or request in names or full_name in names


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


Count = Callable[[PreparedAsk], int]


def _asks(request: Request) -> Sequence[Ask]:
    if request.first_available:
        return request.first_available
    return () if request.exactly is None else (request.exactly,)


class Prepared:
    """All claims of a pod in their order, as far as validation got.

    Attributes:
        claims: The claims.
        requests: For each claim its requests.
        environment: What they were read against.
        remembered: Results of searches, for nodes that look alike.
    """

    def __init__(self, claims: Sequence[Claim], environment: Environment) -> None:
        self.claims = tuple(claims)
        self.environment = environment
        self.profile = environment.profile
        self.requests: list[list[PreparedRequest]] = [[] for _ in claims]
        self.remembered: dict[object, Any] = {}
        self._error = ""
        try:
            for index, claim in enumerate(claims):
                for request in claim.requests:
                    self._check(request, claim)
                    prepared = PreparedRequest(request)
                    self.requests[index].append(prepared)
                    for ask in _asks(request):
                        prepared.asks.append(self._ask(ask, request, claim))
                self._check_constraints(claim)
        except FatalProblemError as error:
            self._error = str(error)

    def validate(self, count: Count) -> None:
        """Raise the first error that the scheduler finds before it searches.

        Args:
            count: Counts the devices of a request for all of them, and may raise.

        Raises:
            FatalProblemError: With the scheduler's text.
        """
        for claim, requests in zip(self.claims, self.requests, strict=True):
            total = 0
            for request in requests:
                counts = [count(ask) if ask.everything else ask.ask.count for ask in request.asks]
                if not request.complete:
                    raise FatalProblemError(self._error)
                least = min(counts)
                if self.profile.new and least > LIMIT - total:
                    raise FatalProblemError(
                        f"claim {claim.key}, request {request.request.name}: adding {least} devices "
                        f"exceeds the claim limit of {LIMIT}, with {total} already accounted for"
                    )
                total += least
            if len(requests) < len(claim.requests):
                raise FatalProblemError(self._error)
            if total > LIMIT:
                raise FatalProblemError(
                    f"claim {claim.key}: number of requested devices {total} "
                    f"exceeds the claim limit of {LIMIT}"
                )
            self._check_constraints(claim)

    def _check(self, request: Request, claim: Claim) -> None:
        features = self.profile.features
        within = f"claim {claim.key}, request {request.name}"
        if request.first_available and not features.PrioritizedList:
            raise FatalProblemError(
                f"{within}: has subrequests, but the DRAPrioritizedList feature is disabled"
            )
        if not request.first_available and request.exactly is None:
            raise FatalProblemError(f"{within}: unknown request type")
        if not features.ConsumableCapacity and not self.profile.stable:
            self._refuse_capacity(request, claim)

    def _refuse_capacity(self, request: Request, claim: Claim) -> None:
        refused = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise FatalProblemError(f"claim {claim.key}, request {request.name}: {refused}")
        for ask in request.first_available:
            if ask.capacity is not None:
                raise FatalProblemError(f"claim {claim.key}, subrequest {ask.name}: {refused}")

    def _ask(self, ask: Ask, request: Request, claim: Claim) -> PreparedAsk:
        within = f"claim {claim.key}, request {ask.name}"
        features = self.profile.features
        if self.profile.new and ask.derived_attributes and not features.DerivedAttributes:
            raise FatalProblemError(
                f"{within}: cannot handle request with derived attributes, the feature is disabled"
            )
        for index, selector in enumerate(ask.selectors):
            if selector is None:
                raise FatalProblemError(
                    f"{within}, selector #{index}: CEL expression empty (unsupported selector type?)"
                )
        if ask.admin_access is not None and not features.AdminAccess:
            raise FatalProblemError(
                f"{within}: admin access is requested, but the feature is disabled"
            )
        if not ask.class_name:
            raise FatalProblemError(
                f"{within}: missing device class name (unsupported request type?)"
            )
        kind = self.environment.classes.get(ask.class_name)
        if kind is None:
            raise FatalProblemError(
                f"{within}: could not retrieve device class {ask.class_name}: "
                f'deviceclass.resource.k8s.io "{ask.class_name}" not found'
            )
        if ask.mode not in (EXACT_COUNT, ALL):
            raise FatalProblemError(f"{within}: unsupported count mode {ask.mode}")
        prepared = PreparedAsk(ask, request.name, claim, kind, self.environment)
        if request.first_available:
            prepared.full_name = f"{request.name}/{ask.name}"
        return prepared

    def _check_constraints(self, claim: Claim) -> None:
        distinct = self.profile.features.ConsumableCapacity or not self.profile.stable
        for index, constraint in enumerate(claim.constraints):
            if constraint.match_attribute is not None:
                continue
            if constraint.distinct_attribute is None or not distinct:
                raise FatalProblemError(
                    f"claim {claim.key}, constraint #{index}: "
                    "empty constraint (unsupported constraint type?)"
                )
