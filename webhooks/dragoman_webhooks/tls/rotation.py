"""When the webhook's own certificates change, and in which order; pure.

The API server must trust a certificate before it is served, and for as long as any replica serves
it. So a new authority goes through four steps, each seen in place before the next: it is stored,
it is published in `caBundle` beside the old one, the leaf is issued by it, the old one is dropped.
Times are passed in; replicas that plan from the same facts plan the same.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Action(StrEnum):
    """What to do next; all but `PUBLISH` change the Secret."""

    FOUND = "found"
    """Make an authority and a leaf: there is nothing that could be trusted."""
    PUBLISH = "publish"
    """Write the authorities into `caBundle`."""
    RENEW = "renew"
    """Issue another leaf by the same authority."""
    STAGE = "stage"
    """Make the next authority."""
    SWITCH = "switch"
    """Let the next authority issue the leaf; the old one stays trusted."""
    DROP = "drop"
    """Trust the old authority no longer."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate.

    Attributes:
        pem: As it is stored.
        begins: When it becomes valid.
        ends: When it ends.
        key_id: Identifies its key.
        issuer_id: Identifies the key that signed it.
        hosts: Names and addresses that it is for; none for an authority.
    """

    pem: bytes
    begins: datetime
    ends: datetime
    key_id: bytes = b""
    issuer_id: bytes = b""
    hosts: frozenset[str] = frozenset()

    def due(self, now: datetime) -> bool:
        """Whether two thirds of its life are over."""
        return now >= self.ends - (self.ends - self.begins) / 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key as PEM."""

    certificate: Certificate
    key: bytes


@dataclass(frozen=True, slots=True)
class Keys:
    """What the Secret holds; None where there is nothing of use.

    Attributes:
        authority: Issues leaves.
        leaf: Is served.
        coming: Will be the authority.
        leaving: Was the authority.
    """

    authority: Pair | None = None
    leaf: Pair | None = None
    coming: Pair | None = None
    leaving: Certificate | None = None

    def trusted(self) -> frozenset[bytes]:
        """Return the authorities that `caBundle` must have, as PEM."""
        pairs = [pair.certificate.pem for pair in (self.authority, self.coming) if pair]
        return frozenset(pairs + ([self.leaving.pem] if self.leaving else []))


@dataclass(frozen=True, slots=True)
class Terms:
    """How long things last.

    Attributes:
        leaf: Life of a leaf.
        authority: Life of an authority.
        settle: How long a new `caBundle` must have been in place before it is relied on.
        overlap: How long an old authority stays trusted after its last leaf was replaced.
    """

    leaf: timedelta
    authority: timedelta
    settle: timedelta
    overlap: timedelta

    @classmethod
    def of(cls, lifetime: timedelta) -> "Terms":
        """Derive everything from the life of a leaf."""
        return cls(
            leaf=lifetime,
            authority=2 * lifetime,
            settle=min(timedelta(minutes=1), lifetime / 20),
            overlap=min(timedelta(hours=1), lifetime / 10),
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when something is decided.

    Attributes:
        keys: What the Secret holds.
        published: The authorities in `caBundle`; None without a webhook configuration.
        hosts: What the leaf must be for.
        now: The time.
        unchanged: How long keys and `published` have been as they are.
    """

    keys: Keys
    published: frozenset[bytes] | None
    hosts: frozenset[str]
    now: datetime
    unchanged: timedelta


def plan(facts: Facts, terms: Terms) -> Action | None:
    """Say what is to be done next, or None when all is well."""
    keys, now = facts.keys, facts.now
    authority = keys.authority.certificate if keys.authority else None
    if authority is None or now >= authority.ends:
        return Action.SWITCH if _valid(keys.coming, now) else Action.FOUND
    if facts.published is not None and facts.published != keys.trusted():
        return Action.PUBLISH
    if _needs_leaf(keys.leaf, authority, facts.hosts, now):
        return Action.RENEW
    if keys.leaving is not None:
        return Action.DROP if facts.unchanged >= terms.overlap else None
    if keys.coming is not None:
        return Action.SWITCH if facts.unchanged >= terms.settle else None
    return Action.STAGE if authority.due(now) else None


def _needs_leaf(
    leaf: Pair | None, authority: Certificate, hosts: frozenset[str], now: datetime
) -> bool:
    if leaf is None or leaf.certificate.issuer_id != authority.key_id:
        return True
    # A leaf that ends with its authority gains nothing by being issued again.
    renewable = leaf.certificate.ends < authority.ends
    return leaf.certificate.hosts != hosts or (renewable and leaf.certificate.due(now))


def _valid(pair: Pair | None, now: datetime) -> bool:
    return pair is not None and now < pair.certificate.ends
