"""When certificates change: each step waits until the one before is in effect."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from dragoman_webhooks.tls.authority import (
    ca_bundle,
    carry_out,
    certificates,
    issue,
    new_ca,
    read_ca_bundle,
    read_secret,
    write_secret,
)
from dragoman_webhooks.tls.rotation import Action, Keys, Lifetimes, RotationFacts, plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOSTS = frozenset({"dragoman-webhook.dragoman.svc", "127.0.0.1"})
LIFETIMES = Lifetimes.of(90 * DAY)
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
        facts = RotationFacts(
            self.keys, self.published, self.hosts, self.now, self.now - self.since
        )
        return plan(facts, LIFETIMES)

    def act(self) -> Action | None:
        action = self.planned()
        if action is Action.PUBLISH:
            self.published = self.keys.trusted()
        elif action is not None:
            self.keys = carry_out(action, self.keys, self.hosts, LIFETIMES, self.now)
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
        if keys.serving is None or not published:
            return False
        store = Store([x509.load_pem_x509_certificate(pem) for pem in published])
        name = x509.DNSName("dragoman-webhook.dragoman.svc")
        verifier = PolicyBuilder().store(store).time(self.now).build_server_verifier(name)
        serving = x509.load_pem_x509_certificate(keys.serving.certificate.pem)
        try:
            verifier.verify(serving, [])
        except x509.verification.VerificationError:
            return False
        return True


def settled() -> World:
    world = World()
    assert world.settle() == [Action.CREATE, Action.PUBLISH]
    return world


def test_an_empty_secret_gets_a_ca_and_a_serving_certificate_and_both_are_trusted() -> None:
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
    assert Action.CREATE not in seen


def test_a_serving_certificate_is_renewed_after_two_thirds_of_its_life_and_not_before() -> None:
    world = settled()
    world.now = NOW + 59 * DAY
    assert world.planned() is None
    world.now = NOW + 60 * DAY
    serving = world.keys.serving
    assert world.settle() == [Action.RENEW]
    assert world.keys.serving != serving


def staged() -> World:
    world = settled()
    world.now = NOW + 121 * DAY
    assert world.settle() == [Action.RENEW, Action.STAGE, Action.PUBLISH]
    return world


def test_a_new_ca_issues_nothing_until_it_was_published_for_a_while() -> None:
    world = staged()
    assert len(world.published or ()) == 2
    world.now += LIFETIMES.settle - timedelta(seconds=1)
    assert world.planned() is None
    world.now += timedelta(seconds=1)
    assert world.act() is Action.SWITCH


def test_an_unpublished_ca_never_issues_however_long_it_waits() -> None:
    world = staged()
    old = world.published
    assert world.keys.ca is not None
    world.published = frozenset({world.keys.ca.certificate.pem})
    world.now += 10 * LIFETIMES.settle
    assert world.planned() is Action.PUBLISH
    assert world.published != old


def test_the_old_ca_is_trusted_until_all_had_time_to_serve_the_new_leaf() -> None:
    world = staged()
    world.now += LIFETIMES.settle
    assert world.settle() == [Action.SWITCH]
    assert len(world.published or ()) == 2
    world.now += LIFETIMES.overlap - timedelta(seconds=1)
    assert world.planned() is None
    world.now += timedelta(seconds=1)
    assert world.settle() == [Action.DROP, Action.PUBLISH]
    assert len(world.published or ()) == 1


@pytest.mark.parametrize("wiped", [b"", b"garbage"], ids=["wiped", "overwritten"])
def test_a_spoilt_bundle_is_published_again_at_once(wiped: bytes) -> None:
    world = settled()
    world.published = read_ca_bundle(ca_bundle(frozenset({wiped})))
    assert world.settle() == [Action.PUBLISH]
    assert world.published == world.keys.trusted()


def test_without_a_webhook_configuration_certificates_are_kept_all_the_same() -> None:
    world = World(published=None)
    assert world.settle() == [Action.CREATE]
    world.now = NOW + 121 * DAY
    assert world.settle() == [Action.RENEW, Action.STAGE]
    world.now += LIFETIMES.settle
    assert world.act() is Action.SWITCH


def test_other_hosts_get_another_serving_certificate_by_the_same_authority() -> None:
    world = settled()
    authority = world.keys.ca
    world.hosts = HOSTS | {"webhook.example.com"}
    assert world.settle() == [Action.RENEW]
    assert world.keys.ca == authority
    assert world.keys.serving is not None
    assert world.keys.serving.certificate.hosts == world.hosts


def test_after_a_long_sleep_everything_is_replaced() -> None:
    world = settled()
    world.now = NOW + LONG
    assert world.settle() == [Action.CREATE, Action.PUBLISH]
    assert world.trusts(world.published or frozenset(), world.keys)


def test_a_sleep_that_only_the_next_ca_survives_goes_on_with_that_one() -> None:
    world = staged()
    world.now = NOW + 181 * DAY
    assert world.settle()[0] is Action.SWITCH
    assert world.trusts(world.published or frozenset(), world.keys)


def test_keys_survive_the_secret() -> None:
    for keys in (settled().keys, staged().keys):
        assert read_secret(write_secret(keys)) == keys


def test_a_secret_that_holds_an_old_ca_is_read_with_it() -> None:
    world = staged()
    world.now += LIFETIMES.settle
    world.act()
    assert world.keys.old_ca is not None
    assert read_secret(write_secret(world.keys)) == world.keys


@pytest.mark.parametrize("name", ["ca.key", "ca.crt", "tls.key", "tls.crt"])
@pytest.mark.parametrize("value", ["", "!", "bm9uc2Vuc2U="], ids=["empty", "no base64", "no PEM"])
def test_what_is_spoilt_in_the_secret_is_replaced(name: str, value: str) -> None:
    world = settled()
    world.keys = read_secret({**write_secret(world.keys), name: value})
    assert world.settle()[0] in {Action.CREATE, Action.RENEW}
    assert world.trusts(world.published or frozenset(), world.keys)


def test_a_key_of_another_certificate_counts_as_none() -> None:
    other = new_ca(NOW, 10 * DAY)
    keys = settled().keys
    assert keys.ca is not None
    mixed = replace(keys, ca=replace(keys.ca, key=other.key))
    assert read_secret(write_secret(mixed)).ca is None


def test_a_serving_certificate_never_outlives_its_authority() -> None:
    authority = new_ca(NOW, 10 * DAY)
    serving = issue(authority, HOSTS, NOW + 5 * DAY, 90 * DAY)
    assert serving.certificate.ends == authority.certificate.ends


def test_a_bundle_is_written_and_read() -> None:
    pems = frozenset(new_ca(NOW, DAY).certificate.pem for _ in range(2))
    assert read_ca_bundle(ca_bundle(pems)) == pems
    assert len(certificates(b"".join(pems))) == 2
