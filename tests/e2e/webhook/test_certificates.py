"""`--tls=self` on a real API server: no step and no accident lets a request go astray."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.webhook.harness import (
    CONFIGURATIONS,
    NAME,
    SECRET,
    WebhookProcess,
    authorities_in,
    bundle_in,
    close,
    configuration,
    spoil_bundle,
    wait_until_reviewed,
    webhook_user,
)
from tests.e2e.webhook.load import Load, claim
from tests.e2e.webhook.manifests import BAD, GOOD
from tests.e2e.webhook.manifests import schema as schema_of_these_tests
from tests.support.controlplane.api import Api, wait_for
from tests.support.controlplane.plane import ControlPlane

Json = dict[str, Any]
SECONDS = 15
"""Life of a leaf where certificates are rotated; an authority's is twice as long."""


def self_signed(plane: ControlPlane, folder: Path, *flags: str) -> WebhookProcess:
    own = ("--tls=self", "--tls-host=127.0.0.1", *flags)
    return WebhookProcess(plane, webhook_user(plane), folder, *own)


@pytest.fixture
def schema(schemas: Api) -> Api:
    schemas.create(schema_of_these_tests())
    return schemas


@pytest.fixture
def webhook(
    request: pytest.FixtureRequest,
    plane: ControlPlane,
    namespace: str,
    tmp_path: Path,
    schema: Api,
) -> Iterator[WebhookProcess]:
    """A webhook with an empty Secret and a configuration without a bundle."""
    flags = getattr(request, "param", ())
    schema.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": place(SECRET, namespace)},
    )
    made = self_signed(plane, tmp_path, f"--namespace={namespace}", *flags)
    schema.create(configuration(made.port))
    try:
        with made:
            yield made
            assert made.faults() == []
    finally:
        close(plane)
        schema.delete("secrets", SECRET, namespace)


def place(name: str, namespace: str) -> Json:
    return {"name": name, "namespace": namespace}


@pytest.mark.slow
@pytest.mark.parametrize(
    "webhook",
    [[f"--tls-lifetime={SECONDS / 86400:f}"]],
    indirect=True,
    ids=[f"lasting {SECONDS} seconds"],
)
def test_rotation_under_load_lets_no_request_go_astray(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schema: Api
) -> None:
    wait_until_reviewed(plane, claim(namespace, BAD))
    first = bundle_in(schema)
    with Load(plane, namespace).running(threads=2) as load:
        wait_for(
            lambda: len(authorities_in(schema, namespace)) == 2,
            60,
            "a second authority is not made",
        )
        wait_for(
            lambda: (
                len(authorities_in(schema, namespace)) == 1 and bundle_in(schema) not in {first, ""}
            ),
            60,
            "the first authority is not dropped",
        )
        load.goes_on()
    assert load.astray() == []
    assert min(load.answers.values()) > 100
    said = webhook.process.log.read_text()
    for step in ("stage", "switch", "drop", "renew", "publish"):
        assert f"action={step}" in said.replace("'", "")


@pytest.mark.parametrize("value", ["", "Z2FyYmFnZQ=="], ids=["wiped", "overwritten"])
def test_a_spoilt_bundle_is_repaired_at_once(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schema: Api, value: str
) -> None:
    wait_until_reviewed(plane, claim(namespace, BAD))
    good = bundle_in(schema)
    spoil_bundle(schema, value)
    wait_for(lambda: bundle_in(schema) == good, 30, "the bundle is not repaired")
    wait_until_reviewed(plane, claim(namespace, BAD))
    assert webhook.ready()


def test_a_lost_secret_stops_nothing_and_a_new_one_is_filled(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schema: Api
) -> None:
    wait_until_reviewed(plane, claim(namespace, BAD))
    schema.delete("secrets", SECRET, namespace)
    wait_until_reviewed(plane, claim(namespace, GOOD), refused=False)
    schema.create({"apiVersion": "v1", "kind": "Secret", "metadata": place(SECRET, namespace)})
    wait_for(lambda: authorities_in(schema, namespace), message="the new Secret is not filled")
    wait_until_reviewed(plane, claim(namespace, BAD))
    assert webhook.ready()


def test_replicas_agree_on_one_authority_and_touch_no_other_configuration(
    plane: ControlPlane, namespace: str, tmp_path: Path, schema: Api
) -> None:
    schema.create({"apiVersion": "v1", "kind": "Secret", "metadata": place(SECRET, namespace)})
    replicas = [self_signed(plane, tmp_path, f"--namespace={namespace}") for _ in range(3)]
    other = configuration(1)
    other["metadata"]["name"] = "another"
    for webhook in other["webhooks"]:
        webhook["rules"][0]["resources"] = ["nothing"]
    stored = schema.create(other)
    schema.create(configuration(replicas[0].port))
    mark = plane.audit.mark()
    try:
        for replica in replicas:
            replica.process.start()
        for replica in replicas:
            wait_for(replica.ready, message="a replica is not ready")
        wait_until_reviewed(plane, claim(namespace, BAD))
        plane.audit.settled("webhook")
        done = plane.audit.writes("webhook", since=mark, refused=False)
        assert len([write for write in done if write.resource == "secrets"]) == 1
        # Each replica's leaf is the one in the Secret: the others answer as the first one does.
        for replica in replicas[1:]:
            document = schema.get(CONFIGURATIONS, NAME)
            for one in document["webhooks"]:
                one["clientConfig"]["url"] = f"https://127.0.0.1:{replica.port}/validate"
            schema.update(document)
            replicas[0].process.stop()
            wait_until_reviewed(plane, claim(namespace, BAD))
        unchanged = schema.get(CONFIGURATIONS, "another")
        assert unchanged["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
    finally:
        close(plane)
        schema.delete(CONFIGURATIONS, "another")
        schema.delete("secrets", SECRET, namespace)
        for replica in replicas:
            replica.process.stop()
