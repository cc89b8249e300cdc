"""What claims request: `spec` of ResourceClaims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dragoman.model.fields import Document
from dragoman.model.taints import Toleration

if TYPE_CHECKING:  # loads the exact arithmetic, which the life of a claim never needs
    from dragoman.model.amounts import Amount


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """What `exactly` of a request, or one subrequest of `firstAvailable`, requests.

    Attributes:
        name: Own name.
        class_name: `deviceClassName`.
        mode: `allocationMode`.
        count: `count`.
        admin_access: `adminAccess`, None when unset.
        selectors: CEL expressions; None for a selector without `cel`.
        tolerations: `tolerations`.
        capacity: `capacity.requests`, None when `capacity` is unset.
        derived_attributes: Attribute name to CEL expression (1.37, alpha).
    """

    name: str
    class_name: str = ""
    mode: str = "ExactCount"
    count: int = 0
    admin_access: bool | None = None
    selectors: tuple[str | None, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Amount] | None = None
    derived_attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim.

    Attributes:
        name: Its name.
        exactly: What it requests, None if it has alternatives.
        first_available: The alternatives, in the order of preference.
    """

    name: str
    exactly: ExactRequest | None = None
    first_available: tuple[ExactRequest, ...] = ()

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
    """The spec of a ResourceClaim. Claims of one template share one object.

    Attributes:
        requests: `spec.devices.requests`.
        constraints: `spec.devices.constraints`.
        config: `spec.devices.config`.
        reservations: UIDs of pods whose reservations some request tolerates.
        plain: The same without these tolerations, which claims of one template share; None where
            there are none.
    """

    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()
    reservations: frozenset[str] = frozenset()
    plain: ClaimSpec | None = field(default=None, repr=False)


NO_SPEC = ClaimSpec()
"""Of claims whose content was not parsed."""
