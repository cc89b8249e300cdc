"""When the webhook's own certificates change, and in which order; pure.

The API server must trust a certificate before a replica serves it, and as long as any replica does.
So a new CA takes four steps, and each waits until the one before is in effect: store the CA,
publish it in `caBundle` beside the old one, issue the serving certificate by it, drop the old CA.
Times are arguments, so that replicas plan the same from the same facts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Action(StrEnum):
    """The next step; all but `PUBLISH` change the Secret."""

    CREATE = "create"
    """Make a CA and a serving certificate, because the Secret holds no valid CA."""
    PUBLISH = "publish"
    """Write the CAs into `caBundle`."""
    RENEW = "renew"
    """Issue another serving certificate by the same CA."""
    STAGE = "stage"
    """Make the next CA."""
    SWITCH = "switch"
    """Let the next CA issue the serving certificate; the old CA stays trusted."""
    DROP = "drop"
    """Remove the old CA."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate."""

    pem: bytes  # As it is stored
    begins: datetime  # When it becomes valid
    ends: datetime  # When it ends
    key_id: bytes = b""  # Identifies its key
    issuer_id: bytes = b""  # Identifies the key that signed it
    hosts: frozenset[str] = frozenset()  # Names and addresses that it is for; none for a CA

    def due(self, now: datetime) -> bool:
        """Whether two thirds of its lifetime are over."""
        return now >= self.ends - (self.ends - self.begins) / 3


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key as PEM."""

    certificate: Certificate
    key: bytes


@dataclass(frozen=True, slots=True)
class Keys:
    """The content of the Secret; None for what is missing or unusable."""

    ca: KeyPair | None = None  # Issues leaves
    serving: KeyPair | None = None  # Is served
    next_ca: KeyPair | None = None  # Replaces the CA
    # Was replaced; replicas may still serve certificates that it signed
    old_ca: Certificate | None = None

    def trusted(self) -> frozenset[bytes]:
        """Return the CAs that `caBundle` must hold, as PEM."""
        pairs = [pair.certificate.pem for pair in (self.ca, self.next_ca) if pair]
        return frozenset(pairs + ([self.old_ca.pem] if self.old_ca else []))


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetimes and waiting times."""

    serving: timedelta  # Of a serving certificate
    ca: timedelta  # Of a CA
    # How long a new `caBundle` must be unchanged before a certificate relies on it
    settle: timedelta
    overlap: timedelta  # How long an old CA stays trusted after its last certificate was replaced

    @classmethod
    def of(cls, lifetime: timedelta) -> "Lifetimes":
        """Derive all of them from the lifetime of a serving certificate."""
        return cls(
            serving=lifetime,
            ca=2 * lifetime,
            settle=min(timedelta(minutes=1), lifetime / 20),
            overlap=min(timedelta(hours=1), lifetime / 10),
        )


@dataclass(frozen=True, slots=True)
class RotationFacts:
    """The facts of one plan."""

    keys: Keys  # The content of the Secret
    # The CAs in `caBundle`; None without a webhook configuration
    published: frozenset[bytes] | None
    hosts: frozenset[str]  # Names and addresses that the serving certificate must be for
    now: datetime  # The time
    unchanged: timedelta  # How long `keys` and `published` are unchanged


def plan(facts: RotationFacts, lifetimes: Lifetimes) -> Action | None:
    """Return the next step, or None if no step is due."""
    keys, now = facts.keys, facts.now
    ca = keys.ca.certificate if keys.ca else None
    if ca is None or now >= ca.ends:
        return Action.SWITCH if _valid(keys.next_ca, now) else Action.CREATE
    if facts.published is not None and facts.published != keys.trusted():
        return Action.PUBLISH
    if _needs_serving(keys.serving, ca, facts.hosts, now):
        return Action.RENEW
    if keys.old_ca is not None:
        return Action.DROP if facts.unchanged >= lifetimes.overlap else None
    if keys.next_ca is not None:
        return Action.SWITCH if facts.unchanged >= lifetimes.settle else None
    return Action.STAGE if ca.due(now) else None


def _needs_serving(
    serving: KeyPair | None, ca: Certificate, hosts: frozenset[str], now: datetime
) -> bool:
    if serving is None or serving.certificate.issuer_id != ca.key_id:
        return True
    # A certificate that ends with its CA would not end later if it were issued again.
    renewable = serving.certificate.ends < ca.ends
    return serving.certificate.hosts != hosts or (renewable and serving.certificate.due(now))


def _valid(pair: KeyPair | None, now: datetime) -> bool:
    return pair is not None and now < pair.certificate.ends
