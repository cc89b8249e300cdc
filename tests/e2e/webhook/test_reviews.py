"""The webhook behind a real ValidatingWebhookConfiguration: what gets in, and what does not."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.e2e.running import OperatorProcess
from tests.e2e.webhook.conftest import CRD
from tests.e2e.webhook.harness import (
    CONFIGURATIONS,
    NAME,
    SECRET,
    WebhookProcess,
    close,
    configuration,
    wait_until_reviewed,
    webhook_user,
)
from tests.e2e.webhook.manifests import (
    BAD,
    GOOD,
    WORSE,
    apply,
    broken_schema,
    delete_class,
    manifest,
    schema,
)
from tests.e2e.webhook.rbac import SCHEMA_RULES, WEBHOOK_RULES
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import free_ports
from tests.support.worlds import driverconfigs as worlds

Json = dict[str, Any]
CLAIM = "ResourceClaim"


@pytest.fixture
def webhook(plane: ControlPlane, tmp_path: Path, schemas: Api) -> Iterator[WebhookProcess]:
    """A webhook process; no configuration names it yet."""
    with WebhookProcess(plane, webhook_user(plane), tmp_path) as made:
        try:
            yield made
            assert made.faults() == []
        finally:
            close(plane)
            delete_class(schemas)


def register(
    plane: ControlPlane, webhook: WebhookProcess, namespace: str, policy: str = "Fail"
) -> None:
    """Create the webhook configuration and wait until it is in force."""
    plane.api().create(configuration(webhook.port, webhook.bundle, policy))
    wait_until_reviewed(plane, plane.served(manifest(CLAIM, namespace, BAD, name="probe")))


def served(plane: ControlPlane, kind: str, namespace: str, *parameters: Json, **more: Any) -> Json:
    return plane.served(manifest(kind, namespace, *parameters, **more))


def test_what_was_stored_before_may_be_changed_in_everything_but_its_faults(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    stored = schemas.create(served(plane, "DeviceClass", namespace, BAD))
    claim = schemas.create(served(plane, CLAIM, namespace, BAD))
    register(plane, webhook, namespace)
    for document in (stored, claim):
        kind, name = document["kind"], document["metadata"]["name"]
        place = document["metadata"].get("namespace")
        labels = {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}}
        assert schemas.patch(kind, name, place, labels)["metadata"]["labels"] == {"a": "b"}
        schemas.patch(kind, name, place, {"metadata": {"finalizers": None}})

    both = {"spec": {"config": [worlds.entry(GOOD), worlds.entry(BAD)]}}
    assert schemas.patch("DeviceClass", "made", None, both)
    added = {"spec": {"config": [*both["spec"]["config"], worlds.entry(WORSE)]}}
    with pytest.raises(ApiError) as refused:
        schemas.patch("DeviceClass", "made", None, added)
    causes = [cause["field"] for cause in refused.value.details["causes"]]
    assert causes == ["spec.config[2].opaque.parameters.level"]
    schemas.delete("deviceclasses", "made")
    schemas.delete("resourceclaims", "made", namespace)


UNREADABLE = "\\ud800"
"""Half of a character: Go's JSON decoder accepts it, strict ones do not."""


def literal(level: str) -> Any:
    """Make parameters in which the level is written literally so."""
    text = json.dumps({**GOOD, "level": "@"}).replace('"@"', level)
    return orjson.Fragment(text.encode())


def denied(apply: Callable[[], Any]) -> str:
    """Return why the API server refuses something as invalid."""
    with pytest.raises(ApiError) as refused:
        apply()
    assert refused.value.code == 422, refused.value.message
    return refused.value.message


def test_a_class_is_reviewed_as_it_is_written_and_not_as_cel_compares_it(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    register(plane, webhook, namespace)
    stored = schemas.create(served(plane, "DeviceClass", namespace, GOOD))

    def update(level: str) -> Json:
        return schemas.update({**stored, "spec": {"config": [worlds.entry(literal(level))]}})

    for level in ("1.0", '1, "level": 1', '1, "kind": "Config"'):
        assert "spec.config[0].opaque.parameters" in denied(partial(update, level))
    assert update("2")


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
@pytest.mark.hostile("bypasses")
def test_an_unreadable_config_is_denied_whatever_the_failure_policy(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api, policy: str
) -> None:
    schemas.create(schema())
    register(plane, webhook, namespace, policy)

    def create(level: str) -> Json:
        claim = manifest(CLAIM, namespace)
        claim["spec"]["devices"]["config"] = [worlds.entry(literal(level))]
        return schemas.create(claim)

    deep = "[" * 300 + "]" * 300
    for level in (f'"{UNREADABLE}"', deep, f'1, "{UNREADABLE}": 2'):
        assert "spec.devices.config[0].opaque.parameters" in denied(partial(create, level))
    assert create("1")


@pytest.mark.hostile("bypasses")
def test_a_class_that_is_being_deleted_takes_no_new_bad_config(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    made = served(plane, "DeviceClass", namespace, GOOD)
    made["metadata"]["finalizers"] = ["example.com/a"]
    schemas.create(made)
    register(plane, webhook, namespace)
    schemas.delete("deviceclasses", "made")
    worse = {"spec": {"config": [worlds.entry(BAD)]}}
    with pytest.raises(ApiError) as refused:
        schemas.patch("DeviceClass", "made", None, worse)
    assert refused.value.code == 422
    schemas.patch("DeviceClass", "made", None, {"metadata": {"finalizers": None}})
    wait_for(lambda: schemas.find("deviceclasses", "made") is None, message="the class stays")


def test_a_schema_takes_effect_changes_and_goes_without_a_restart(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    register(plane, webhook, namespace)
    claim = served(plane, CLAIM, namespace, BAD)
    schemas.patch(CRD, worlds.DRIVER, None, {"spec": {"mode": "Warn"}})
    wait_until_reviewed(plane, claim, refused=False)
    status, said = apply(plane, claim)
    assert status == 0
    assert "Warning: spec.devices.config[0].opaque.parameters.level: Invalid value" in said
    schemas.delete("resourceclaims", "made", namespace)
    schemas.patch(CRD, worlds.DRIVER, None, {"spec": {"mode": "Enforce"}})
    wait_until_reviewed(plane, claim)
    schemas.delete(CRD, worlds.DRIVER)
    wait_until_reviewed(plane, claim, refused=False)


def test_a_schema_that_does_not_compile_is_refused_with_its_path(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    register(plane, webhook, namespace)
    schemas.delete(CRD, worlds.DRIVER)
    status, said = apply(plane, broken_schema())
    assert status == 1
    assert f'The DriverConfigSchema "{worlds.DRIVER}" is invalid: spec.configs[0]' in said


def test_with_the_webhook_down_fail_refuses_and_ignore_lets_in(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    register(plane, webhook, namespace)
    webhook.process.kill()
    status, said = apply(plane, served(plane, CLAIM, namespace, GOOD, name="good"))
    assert status == 1
    assert 'failed calling webhook "configs.dragoman.dev"' in said
    # What has no configs does not depend on the webhook.
    status, said = apply(plane, served(plane, CLAIM, namespace, name="plain"))
    assert status == 0, said

    document = schemas.get(CONFIGURATIONS, NAME)
    for one in document["webhooks"]:
        one["failurePolicy"] = "Ignore"
    schemas.update(document)
    wait_until_reviewed(plane, served(plane, CLAIM, namespace, BAD), refused=False)
    status, said = apply(plane, served(plane, CLAIM, namespace, BAD))
    assert status == 0, said

    webhook.start()
    wait_until_reviewed(plane, served(plane, CLAIM, namespace, WORSE, name="worse"))


def test_a_broken_schema_that_is_stored_leaves_the_last_good_one_in_force(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    wait_for(lambda: "errors=0 broken=False" in said(webhook), message="the schema is not compiled")
    # No webhook configuration is in force yet, so it can be stored.
    schemas.patch(CRD, worlds.DRIVER, None, {"spec": broken_schema()["spec"]})
    wait_for(lambda: "errors=1 broken=False" in said(webhook), message="the fault is not seen")
    register(plane, webhook, namespace)
    status, words = apply(plane, served(plane, CLAIM, namespace, GOOD))
    assert status == 0, words

    webhook.process.stop()
    webhook.start()
    status, words = apply(plane, served(plane, CLAIM, namespace, GOOD, name="other"))
    assert status == 1
    assert f"DriverConfigSchema {worlds.DRIVER} does not compile" in words
    other = plane.served(
        {
            **worlds.claim(worlds.entry({"any": 1}, driver="other.example.com")),
            "metadata": {"name": "another-driver", "namespace": namespace},
        }
    )
    assert apply(plane, other)[0] == 0
    schemas.patch(CRD, worlds.DRIVER, None, {"spec": schema()["spec"]})
    wait_until_reviewed(plane, served(plane, CLAIM, namespace, GOOD, name="third"), refused=False)


def said(webhook: WebhookProcess) -> str:
    return webhook.process.log.read_text()


def test_a_pod_of_a_template_that_was_there_before_gets_an_event_that_says_why_it_waits(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, schemas: Api
) -> None:
    schemas.create(schema())
    schemas.create(served(plane, "ResourceClaimTemplate", namespace, BAD))
    register(plane, webhook, namespace)
    user = plane.user("dragoman", SCHEMA_RULES)
    flags = f"--namespace={plane.create_namespace('lease')}"
    with OperatorProcess(plane, user, flags):
        schemas.create(objects.pod("p", namespace, templates={"gpu": "made"}))

        def events() -> list[str]:
            found = schemas.list("events.events.k8s.io", namespace)
            return [e["note"] for e in found if e["reason"] == "FailedResourceClaimCreation"]

        note = wait_for(events, message="the pod has no Event")[0]
    assert "spec.devices.config[0].opaque.parameters.level" in note
    assert schemas.list("resourceclaims", namespace) == []


def test_the_operator_serves_reviews_in_its_own_process_with_its_own_certificates(
    plane: ControlPlane, namespace: str, schemas: Api
) -> None:
    schemas.create(schema())
    secret = {"name": SECRET, "namespace": namespace}
    schemas.create({"apiVersion": "v1", "kind": "Secret", "metadata": secret})
    (port,) = free_ports(1)
    schemas.create(configuration(port))
    user = plane.user("one-process", (*SCHEMA_RULES, *WEBHOOK_RULES))
    flags = ("--with-webhook", "--tls=self", "--tls-host=127.0.0.1", f"--namespace={namespace}")
    try:
        with OperatorProcess(plane, user, *flags, f"--webhook-address=127.0.0.1:{port}") as running:
            wait_until_reviewed(plane, served(plane, CLAIM, namespace, BAD))
            assert apply(plane, served(plane, CLAIM, namespace, GOOD))[0] == 0
            assert running.faults() == []
    finally:
        close(plane)
        schemas.delete("secrets", SECRET, namespace)
