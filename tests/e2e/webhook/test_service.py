"""The webhook behind a Service, as a cluster has it: the API server dials the replicas' addresses.

Neither kubelet nor kube-proxy is needed: an API server with aggregator routing takes the addresses
out of the EndpointSlice. They belong to a private network.
"""

import signal
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pytest

from tests.e2e.webhook import conftest
from tests.e2e.webhook.harness import (
    SECRET,
    WebhookProcess,
    authorities_in,
    bundle_in,
    close,
    example,
    spoil_bundle,
    wait_until_reviewed,
)
from tests.e2e.webhook.load import Load, claim
from tests.e2e.webhook.manifests import BAD, GOOD, MAKERS, apply, delete_class, manifest, schema
from tests.e2e.webhook.service import NAMESPACE, Mounted, publish, several, trust
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.network import Network
from tests.support.controlplane.plane import ControlPlane

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
GIVEN_UP = example()["webhooks"][0]["timeoutSeconds"] + 1
"""Seconds after which the API server has given up a request that is not answered."""
LIFETIME = 15 / 86400
"""Days that a leaf lasts where certificates are rotated; an authority's is twice as long."""


pytestmark = pytest.mark.usefixtures("private_networks")


@pytest.fixture(scope="module")
def network() -> Network:
    return Network()


@pytest.fixture(scope="module")
def plane(network: Network) -> Iterator[ControlPlane]:
    """Run a control plane in a network of its own, with the accounts of the examples."""
    served = {f"{GROUP}/{one}": True for one in VERSIONS}
    with ControlPlane(network=network, runtime_config=served) as running:
        conftest.install(running)
        running.kubectl("apply", "-f", "examples/operator", "-f", "examples/webhook/rbac.yaml")
        running.api().create(schema())
        yield running


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    """A certificate that is renewed externally."""
    return Mounted(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def pair(plane: ControlPlane, network: Network, mounted: Mounted) -> Iterator[list[WebhookProcess]]:
    """Two replicas with the same mounted certificate; no configuration names them yet."""
    with several(plane, network, mounted.flags) as running:
        yield running


@pytest.fixture
def replicas(
    plane: ControlPlane, namespace: str, mounted: Mounted, pair: list[WebhookProcess]
) -> Iterator[list[WebhookProcess]]:
    """The two; the API server calls them."""
    publish(plane, pair)
    plane.api().create(example(mounted.bundle))
    wait_until_reviewed(plane, claim(namespace, BAD))
    yield pair
    close(plane)


@pytest.fixture
def self_signed(
    request: pytest.FixtureRequest, plane: ControlPlane, network: Network, namespace: str
) -> Iterator[list[WebhookProcess]]:
    """Two replicas that make their certificates themselves; the API server calls them."""
    flags = ["--tls=self", f"--namespace={NAMESPACE}", *getattr(request, "param", ())]
    plane.api().create(example())
    with several(plane, network, flags) as running:
        publish(plane, running)
        wait_until_reviewed(plane, claim(namespace, BAD))
        yield running
        close(plane)
    plane.api().patch("secrets", SECRET, NAMESPACE, {"data": None})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.usefixtures("replicas")
def test_a_bad_config_is_refused_at_kubectl_apply_and_the_corrected_one_is_not(
    plane: ControlPlane, namespace: str, kind: str, version: str
) -> None:
    status, said = apply(plane, manifest(kind, namespace, BAD, version=version))
    path = f"{MAKERS[kind][1]}.opaque.parameters.level"
    fault = f'{path}: Invalid value: "high": must be an integer'
    assert status == 1
    assert said.endswith(f'The {kind} "made" is invalid: {fault}\n')
    try:
        status, said = apply(plane, manifest(kind, namespace, GOOD, version=version))
        assert status == 0, said
        assert "/made created\n" in said
    finally:
        delete_class(plane.api())


def test_with_all_replicas_down_fail_refuses_and_ignore_lets_in(
    plane: ControlPlane, namespace: str, mounted: Mounted, replicas: list[WebhookProcess]
) -> None:
    for replica in replicas:
        replica.process.kill()
    status, said = apply(plane, manifest("ResourceClaim", namespace, GOOD, name="good"))
    assert status == 1
    assert 'failed calling webhook "configs.dragoman.dev"' in said
    assert "connection refused" in said
    # What has no configs does not depend on the webhook.
    assert apply(plane, manifest("ResourceClaim", namespace, name="plain"))[0] == 0

    close(plane)
    plane.api().create(example(mounted.bundle, "Ignore"))
    wait_until_reviewed(plane, claim(namespace, BAD), refused=False)
    assert apply(plane, manifest("ResourceClaim", namespace, BAD))[0] == 0
    for replica in replicas:
        replica.start()
    wait_until_reviewed(plane, claim(namespace, BAD))


def test_no_request_is_answered_wrongly_while_replicas_are_killed_and_come_back(
    plane: ControlPlane, namespace: str, replicas: list[WebhookProcess]
) -> None:
    with Load(plane, namespace).running() as load:
        load.goes_on(100)
        assert load.refused == []
        for replica in replicas:
            replica.process.kill()
            load.goes_on()  # by the other one
            replica.process.start()
            load.recovers()
        for replica in replicas:
            replica.process.kill()
        before = len(load.refused)
        wait_for(lambda: len(load.refused) > before + 20, message="answers out of nowhere")
        for replica in replicas:
            replica.process.start()
        load.recovers(100)
    assert load.wrong == []


@contextmanager
def hung(_: Network, replica: WebhookProcess) -> Iterator[None]:
    """Let a replica take connections and never answer."""
    replica.process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        replica.process.signal(signal.SIGCONT)


@contextmanager
def unreachable(network: Network, replica: WebhookProcess) -> Iterator[None]:
    """Let the address of a replica vanish, as that of a pod whose node is lost."""
    address = f"{replica.address}/{network.subnet.prefixlen}"
    network.run("ip", "address", "delete", address, "dev", "eth0")
    try:
        yield
    finally:
        network.run("ip", "address", "add", address, "dev", "eth0")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [hung, unreachable])
def test_a_replica_that_does_not_answer_costs_its_requests_and_no_others(
    plane: ControlPlane,
    network: Network,
    namespace: str,
    replicas: list[WebhookProcess],
    fault: Callable[[Network, WebhookProcess], AbstractContextManager[None]],
) -> None:
    with Load(plane, namespace).running() as load:
        for replica in replicas:
            load.goes_on()
            with fault(network, replica):
                load.goes_on()
                time.sleep(GIVEN_UP)
            load.recovers()
    assert load.refused, "the fault had no effect"
    assert load.wrong == []


def test_a_renewed_certificate_of_another_authority_loses_no_request(
    plane: ControlPlane, namespace: str, mounted: Mounted, replicas: list[WebhookProcess]
) -> None:
    served = [certificate_of(replica) for replica in replicas]
    with Load(plane, namespace).running() as load:
        load.goes_on()
        issuer = mounted.issue()
        trust(plane, mounted.bundle + issuer.certificate.read_bytes())
        load.goes_on(200)
        mounted.mount(issuer)
        for replica, before in zip(replicas, served, strict=True):
            changed = partial(differs, replica, before)
            wait_for(changed, message=f"{replica.address} serves the old certificate")
        trust(plane, mounted.bundle)
        load.goes_on(200)
    assert load.astray() == []


@pytest.mark.slow
def test_a_wiped_bundle_under_load_is_repaired_at_once_and_lets_nothing_in(
    plane: ControlPlane, namespace: str, self_signed: list[WebhookProcess]
) -> None:
    good = bundle_in(plane.api())
    with Load(plane, namespace).running() as load:
        load.goes_on()
        spoil_bundle(plane.api())
        wait_for(lambda: bundle_in(plane.api()) == good, 30, "the bundle is not repaired")
        load.recovers()
    assert load.wrong == []
    assert all(replica.ready() for replica in self_signed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "self_signed", [[f"--tls-lifetime={LIFETIME:f}"]], indirect=True, ids=["lasting 15 seconds"]
)
def test_rotation_under_load_lets_no_request_go_astray(
    plane: ControlPlane, namespace: str, self_signed: list[WebhookProcess]
) -> None:
    api = plane.api()
    first = bundle_in(api)
    served = {certificate_of(replica) for replica in self_signed}
    assert len(served) == 1
    with Load(plane, namespace).running() as load:
        wait_for(
            lambda: len(authorities_in(api, NAMESPACE)) == 2, 60, "a second authority is not made"
        )
        wait_for(
            lambda: len(authorities_in(api, NAMESPACE)) == 1 and bundle_in(api) not in {first, ""},
            60,
            "the first authority is not dropped",
        )
        load.goes_on()
    assert load.astray() == []
    assert {certificate_of(replica) for replica in self_signed}.isdisjoint(served)


def differs(replica: WebhookProcess, before: str) -> bool:
    """Whether a replica serves another certificate than before."""
    return certificate_of(replica) != before


def certificate_of(replica: WebhookProcess) -> str:
    """Return the certificate that a replica serves to new connections."""
    return ssl.get_server_certificate((replica.address, replica.port))
