"""A request or subrequest, with all that is remembered about devices for it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from dragoman.allocation.codes import Code
from dragoman.allocation.features import Profile, Variant
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.environment import ClassEnvironment
from dragoman.allocation.requests.expressions import Expression, Failure, hinted
from dragoman.allocation.requests.plans import Plan
from dragoman.allocation.rules import attributes
from dragoman.allocation.rules.capacity import Amounts, CapacityError, PolicyError, consumption
from dragoman.model.device import Content, Traits
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import DeviceID
from dragoman.model.requests import ClaimSpec, Constraint, ExactRequest, Request

EXACT_COUNT, ALL = "ExactCount", "All"
_NO_EXPRESSION = Failure("CEL expression empty (unsupported selector type?)", compiling=True)


class Devices(Protocol):
    """The devices of a node by position."""

    def id(self, position: int) -> DeviceID:
        """Return the identity of a device, for messages."""


class Grant(NamedTuple):
    """What results repeat of a request."""

    name: str  # `request` or `request/subrequest`
    admin: bool  # Whether the request has admin access
    tolerations: tuple[Mapping[str, Any], ...]  # In the API's form
    profile: Profile  # Which scheduler decides


class PreparedRequest:
    """A request or subrequest with all that is known about it before a node is looked at.

    Attributes:
        exact: The facts.
        request_name: Name of the (top-level) request.
        full_name: `request` or `request/subrequest`.
        claim: The spec of the claim.
        place: What a message calls the claim; see `validation.placeholder`.
        device_class: Its class.
        selectors: Compiled selectors in order of evaluation, with what a message calls them.
        constraints: Indexes of the claim's constraints that apply.
        everything: Whether the request wants all devices.
        admin: Whether the request wants admin access.
        profile: Which scheduler decides.
        grant: What results repeat of it.
        known: Whether selectors match, as far as known.
        plans: What the request means for contents of the same traits, as far as known.
    """

    __slots__ = (
        "_environment", "_judged", "_values", "admin", "claim", "constraints",
        "device_class", "everything", "exact", "full_name", "grant", "known", "place", "plans",
        "profile", "request_name", "selectors",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 — each is a fact of its own
        self,
        exact: ExactRequest,
        request: Request,
        claim: ClaimSpec,
        *,
        place: str,
        kind: DeviceClass,
        environment: ClassEnvironment,
    ) -> None:
        self.exact = exact
        self.claim = claim
        self.place = place
        self.request_name = request.name
        listed = bool(request.first_available)
        self.full_name = f"{request.name}/{exact.name}" if listed else request.name
        self.device_class = kind
        self.profile = environment.profile
        self.everything = exact.mode == ALL
        self.admin = exact.admin_access is True
        self._environment = environment
        self.selectors = [
            *_compiled(f"class {kind.name}", kind.selectors, environment),
            *_compiled(f"claim {place}", exact.selectors, environment),
        ]
        self.constraints = [
            index
            for index, constraint in enumerate(claim.constraints)
            if _concerns(constraint, request.name, self.full_name)
        ]
        self.grant = Grant(
            self.full_name,
            self.admin,
            tuple(toleration.document() for toleration in exact.tolerations),
            self.profile,
        )
        self.plans: dict[Traits, Plan | None] = {}
        self.known: dict[Content, bool] = {}
        self._judged: tuple[str, dict[Content, Any]] = ("", {})
        self._values: dict[tuple[int, Content], Any] = {}

    def selectable(self, content: Content, devices: Devices, position: int) -> bool:
        """Tell whether all selectors match.

        Raises:
            FatalProblemError: A selector cannot be evaluated.
        """
        found = self.known.get(content)
        if found is None:
            found = self.known[content] = self._select(content, devices, position)
            self._environment.entries += 1
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
                message = self._failed(origin, index, result, device)
                raise self.problem(Code.CEL_ERROR, message, device)
        return True

    def judged(self, origin: str) -> dict[Content, Any]:
        """Return what `reasons` found out about contents, for one claim after the other.

        Args:
            origin: What reasons call the claim.
        """
        if self._judged[0] != origin:
            self._judged = (origin, {})
        return self._judged[1]

    def problem(
        self, code: Code, message: str, device: DeviceID | None = None
    ) -> FatalProblemError:
        """Make an error that ends the pod's attempt at this request."""
        return FatalProblemError(code, message, self.place, self.full_name, device)

    def _failed(self, origin: str, index: int, failure: Failure, device: DeviceID) -> str:
        where = f"{origin}: selector #{index}"
        if failure.compiling:
            return f"{where}: CEL compile error: {failure.message}"
        if self.profile.selectors_advised:
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
        if content.traits in self.plans:
            return self.plans[content.traits]
        try:
            plan = Plan(
                content,
                self.consumption(content),
                self.exact.tolerations,
                self.profile,
            )
        except PolicyError:
            plan = None
        except CapacityError as error:
            if self.profile.amounts_checked:
                device = devices.id(position)
                message = (
                    f"claim {self.place}, request {self.exact.name}: checking capacity "
                    f"for device {device.device if bare else device}: {error}"
                )
                raise self.problem(Code.CAPACITY_ERROR, message, device) from None
            plan = None
        self.plans[content.traits] = plan
        self._environment.entries += 1
        return plan

    def consumption(self, content: Content) -> Amounts:
        """Return what is taken of each capacity of a device; see `capacity.consumption`."""
        if not self.profile.features.ConsumableCapacity:
            return {}
        return consumption(self.exact.capacity, content.capacity, self.profile, content.driver)

    def value(self, index: int, content: Content, devices: Devices, position: int) -> Any:
        """Return a tuple of the value that a constraint compares.

        None stands for a device that lacks the attribute.

        Raises:
            FatalProblemError: A derived attribute cannot be evaluated (1.37, alpha), or a value
                cannot be used (1.38).
        """
        key = (index, content)
        if key not in self._values:
            name = self.claim.constraints[index].attribute
            self._values[key] = self._value(name, content, devices, position)
            self._environment.entries += 1
        return self._values[key]

    def _value(self, name: str, content: Content, devices: Devices, position: int) -> Any:
        expression = dict(self.exact.derived_attributes).get(name)
        if expression is None:
            attribute = attributes.lookup(content, name)
        else:
            attribute = self._derive(name, expression, content, devices.id(position))
        if attribute is None:
            return None
        lists = self.profile.features.ListTypeAttributes
        if self.profile.unusable_values_fatal:
            empty = expression is not None
            value = attributes.usable(attribute, lists=lists, empty=empty)
            if value is None:
                raise self._unusable(name, devices.id(position))
            return (value,)
        if lists:
            # Lists without elements and attributes without a value satisfy no constraint, except
            # that the 1.36 form of distinctAttribute takes them as the first one.
            return (attributes.elements(attribute),)
        return (attributes.scalar(attribute),)

    def _unusable(self, name: str, device: DeviceID) -> FatalProblemError:
        message = f"device {device}: unsupported attribute value for {name}"
        if self.profile.variant is Variant.STABLE:
            message = f"claim {self.place}, request {self.exact.name}: {message}"
        return self.problem(Code.ATTRIBUTE_UNUSABLE, message, device)

    def _derive(
        self, name: str, expression: str, content: Content, device: DeviceID
    ) -> Mapping[str, Any]:
        result = self._environment.derivation(expression).on(content)
        if not isinstance(result, Failure):
            return result
        if result.compiling:
            message = f"compile derived attribute {name} failed: {result.message}"
        else:
            message = (
                f"evaluate derived attribute {name} on device {device} failed: {result.message}"
            )
        raise self.problem(Code.CEL_ERROR, message, device)


def _compiled(
    origin: str, texts: Sequence[str | None], environment: ClassEnvironment
) -> Iterator[tuple[str, int, Expression | None]]:
    for index, text in enumerate(texts):
        yield origin, index, None if text is None else environment.expression(text)


def _concerns(constraint: Constraint, request: str, full_name: str) -> bool:
    names = constraint.requests
    return not names or request in names or full_name in names
