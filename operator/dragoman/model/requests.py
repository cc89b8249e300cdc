"""What claims request: `spec` of ResourceClaims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from dragoman.model.fields import Document
from dragoman.model.taints import Toleration

if TYPE_CHECKING:  # loads the exact arithmetic, which the life of a claim never needs
    from dragoman.model.amounts import Amount


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """What `exactly` of a request, or one subrequest of `firstAvailable`, requests."""

    name: str  # Own name
    class_name: str = ""  # `deviceClassName`
    mode: str = "ExactCount"  # `allocationMode`
    count: int = 0  # `count`
    admin_access: bool | None = None  # `adminAccess`, None when unset
    selectors: tuple[str | None, ...] = ()  # CEL expressions; None for a selector without `cel`
    tolerations: tuple[Toleration, ...] = ()  # `tolerations`
    # `capacity.requests`, None when `capacity` is unset.
    capacity: Mapping[str, Amount] | None = None
    # Attribute name to CEL expression (1.37, alpha).
    derived_attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim."""

    name: str  # Its name
    exactly: ExactRequest | None = None  # What it requests, None if it has alternatives
    first_available: tuple[ExactRequest, ...] = ()  # The alternatives, in the order of preference

    @property
    def alternatives(self) -> tuple[ExactRequest, ...]:
        """The subrequests in their order; `exactly` is the only one of a request without a list."""
        if self.first_available or self.exactly is None:
            return self.first_available
        return (self.exactly,)


class Constraint(NamedTuple):
    """A constraint of a claim; `requests` empty means all of them."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None

    @property
    def attribute(self) -> str:
        """The name of the attribute that is compared."""
        found = self.distinct_attribute if self.match_attribute is None else self.match_attribute
        return found or ""

    @property
    def kind(self) -> str:
        """The field of the API that is set."""
        return "distinctAttribute" if self.match_attribute is None else "matchAttribute"


class ClaimConfig(NamedTuple):
    """A config of a claim; `document` is the item without `requests`."""

    requests: tuple[str, ...]
    document: Document


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ClaimSpec:
    """The spec of a ResourceClaim. Claims of one template share one object."""

    requests: tuple[Request, ...] = ()  # `spec.devices.requests`.
    constraints: tuple[Constraint, ...] = ()  # `spec.devices.constraints`.
    config: tuple[ClaimConfig, ...] = ()  # `spec.devices.config`.
    # UIDs of pods whose reservations some request tolerates
    reservations: frozenset[str] = frozenset()
    # The same without these tolerations, which claims of one template share; None where there are
    # none
    plain: ClaimSpec | None = field(default=None, repr=False)

    def changed(self, change: Callable[[ExactRequest], ExactRequest]) -> ClaimSpec:
        """Return the spec with each request and subrequest changed; constraints stay."""
        requests = tuple(
            replace(
                one,
                exactly=one.exactly and change(one.exactly),
                first_available=tuple(map(change, one.first_available)),
            )
            for one in self.requests
        )
        return replace(self, requests=requests)


NO_SPEC = ClaimSpec()
"""Of claims whose content was not parsed."""
