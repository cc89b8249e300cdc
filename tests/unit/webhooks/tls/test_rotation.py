"""When certificates change: each step only after the one before is seen in place."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from dragoman_webhooks.tls.authority import (
    bundle_of,
    certificates,
    changed,
    data_of,
    issue,
    keys_of,
    new_authority,
    published_in,
)
from dragoman_webhooks.tls.rotation import Action, Facts, Keys, Terms, plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOSTS = frozenset({"dragoman-webhook.dragoman.svc", "127.0.0.1"})
TERMS = Terms.of(90 * DAY)
LONG = timedelta(days=1000)


@dataclass
class World:
    """A Secret, a webhook configuration and a clock."""

    keys: Keys = field(default_factory=Keys)
    published: frozenset[bytes] | None = frozenset()
    now: datetime = NOW
    since: datetime = NOW
    hosts: frozenset[str] = HOSTS

    def planned(self) -> Action | None:
        facts = Facts(self.keys, self.published, self.hosts, self.now, self.now - self.since)
        return plan(facts, TERMS)

    def act(self) -> Action | None:
        action = self.planned()
        if action is Action.PUBLISH:
            self.published = self.keys.trusted()
        elif action is not None:
            self.keys = changed(action, self.keys, self.hosts, TERMS, self.now)
        if action is not None:
            self.since = self.now
        return action

    def settle(self) -> list[Action]:
        """Act until nothing is to be done at this time."""
        done: list[Action] = []
        while (action := self.act()) is not None:
            done.append(action)
            assert len(done) < 10
        return done

    def trusts(self, published: frozenset[bytes], keys: Keys) -> bool:
        """Whether an API server with this bundle accepts what is served."""
        if keys.leaf is None or not published:
            return False
        store = Store([x509.load_pem_x509_certificate(pem) for pem in published])
        name = x509.DNSName("dragoman-webhook.dragoman.svc")
        verifier = PolicyBuilder().store(store).time(self.now).build_server_verifier(name)
        leaf = x509.load_pem_x509_certificate(keys.leaf.certificate.pem)
        try:
            verifier.verify(leaf, [])
        except x509.verification.VerificationError:
            return False
        return True


def settled() -> World:
    world = World()
    assert world.settle() == [Action.FOUND, Action.PUBLISH]
    return world


def test_an_empty_secret_gets_an_authority_and_a_leaf_and_both_are_trusted() -> None:
    world = settled()
    assert world.trusts(world.published or frozenset(), world.keys)
    assert world.planned() is None


def test_for_three_years_what_is_served_is_trusted_before_and_after_every_single_step() -> None:
    world = settled()
    seen: list[Action] = []
    while world.now < NOW + 3 * 365 * DAY:
        world.now += timedelta(minutes=30)
        before = (world.published, world.keys)
        action = world.act()
        if action is None:
            continue
        seen.append(action)
        # Replicas and API servers learn of a step in any order.
        for published in {before[0], world.published}:
            for keys in (before[1], world.keys):
                assert world.trusts(published or frozenset(), keys), (action, world.now)
    assert seen.count(Action.SWITCH) == seen.count(Action.STAGE) == seen.count(Action.DROP)
    assert seen.count(Action.STAGE) >= 8
    assert Action.FOUND not in seen


def test_a_leaf_is_renewed_after_two_thirds_of_its_life_and_not_before() -> None:
    world = settled()
    world.now = NOW + 59 * DAY
    assert world.planned() is None
    world.now = NOW + 60 * DAY
    leaf = world.keys.leaf
    assert world.settle() == [Action.RENEW]
    assert world.keys.leaf != leaf


def staged() -> World:
    world = settled()
    world.now = NOW + 121 * DAY
    assert world.settle() == [Action.RENEW, Action.STAGE, Action.PUBLISH]
    return world


def test_a_new_authority_issues_nothing_until_it_was_published_for_a_while() -> None:
    world = staged()
    assert len(world.published or ()) == 2
    world.now += TERMS.settle - timedelta(seconds=1)
    assert world.planned() is None
    world.now += timedelta(seconds=1)
    assert world.act() is Action.SWITCH


def test_an_unpublished_authority_never_issues_however_long_it_waits() -> None:
    world = staged()
    old = world.published
    assert world.keys.authority is not None
    world.published = frozenset({world.keys.authority.certificate.pem})
    world.now += 10 * TERMS.settle
    assert world.planned() is Action.PUBLISH
    assert world.published != old


def test_the_old_authority_is_trusted_until_all_had_time_to_serve_the_new_leaf() -> None:
    world = staged()
    world.now += TERMS.settle
    assert world.settle() == [Action.SWITCH]
    assert len(world.published or ()) == 2
    world.now += TERMS.overlap - timedelta(seconds=1)
    assert world.planned() is None
    world.now += timedelta(seconds=1)
    assert world.settle() == [Action.DROP, Action.PUBLISH]
    assert len(world.published or ()) == 1


@pytest.mark.parametrize("wiped", [b"", b"garbage"], ids=["wiped", "overwritten"])
def test_a_spoilt_bundle_is_published_again_at_once(wiped: bytes) -> None:
    world = settled()
    world.published = published_in(bundle_of(frozenset({wiped})))
    assert world.settle() == [Action.PUBLISH]
    assert world.published == world.keys.trusted()


def test_without_a_webhook_configuration_certificates_are_kept_all_the_same() -> None:
    world = World(published=None)
    assert world.settle() == [Action.FOUND]
    world.now = NOW + 121 * DAY
    assert world.settle() == [Action.RENEW, Action.STAGE]
    world.now += TERMS.settle
    assert world.act() is Action.SWITCH


def test_other_hosts_get_another_leaf_by_the_same_authority() -> None:
    world = settled()
    authority = world.keys.authority
    world.hosts = HOSTS | {"webhook.example.com"}
    assert world.settle() == [Action.RENEW]
    assert world.keys.authority == authority
    assert world.keys.leaf is not None
    assert world.keys.leaf.certificate.hosts == world.hosts


def test_after_a_long_sleep_everything_is_made_anew() -> None:
    world = settled()
    world.now = NOW + LONG
    assert world.settle() == [Action.FOUND, Action.PUBLISH]
    assert world.trusts(world.published or frozenset(), world.keys)


def test_a_sleep_that_only_the_next_authority_survives_goes_on_with_that_one() -> None:
    world = staged()
    world.now = NOW + 181 * DAY
    assert world.settle()[0] is Action.SWITCH
    assert world.trusts(world.published or frozenset(), world.keys)


def test_keys_survive_the_secret() -> None:
    for keys in (settled().keys, staged().keys):
        assert keys_of(data_of(keys)) == keys


def test_a_secret_that_holds_an_old_authority_is_read_with_it() -> None:
    world = staged()
    world.now += TERMS.settle
    world.act()
    assert world.keys.leaving is not None
    assert keys_of(data_of(world.keys)) == world.keys


@pytest.mark.parametrize("name", ["ca.key", "ca.crt", "tls.key", "tls.crt"])
@pytest.mark.parametrize("value", ["", "!", "bm9uc2Vuc2U="], ids=["empty", "no base64", "no PEM"])
def test_what_is_spoilt_in_the_secret_is_replaced(name: str, value: str) -> None:
    world = settled()
    world.keys = keys_of({**data_of(world.keys), name: value})
    assert world.settle()[0] in {Action.FOUND, Action.RENEW}
    assert world.trusts(world.published or frozenset(), world.keys)


def test_a_key_of_another_certificate_counts_as_none() -> None:
    other = new_authority(NOW, 10 * DAY)
    keys = settled().keys
    assert keys.authority is not None
    mixed = replace(keys, authority=replace(keys.authority, key=other.key))
    assert keys_of(data_of(mixed)).authority is None


def test_a_leaf_never_outlives_its_authority() -> None:
    authority = new_authority(NOW, 10 * DAY)
    leaf = issue(authority, HOSTS, NOW + 5 * DAY, 90 * DAY)
    assert leaf.certificate.ends == authority.certificate.ends


def test_a_bundle_is_written_and_read() -> None:
    pems = frozenset(new_authority(NOW, DAY).certificate.pem for _ in range(2))
    assert published_in(bundle_of(pems)) == pems
    assert len(certificates(b"".join(pems))) == 2
