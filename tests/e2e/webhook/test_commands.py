"""`dragoman verify` and `dragoman delete-webhooks` against a real API server."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli
from tests.e2e.rbac import DRA, rule
from tests.e2e.webhook.harness import (
    CONFIGURATIONS,
    NAME,
    WebhookProcess,
    close,
    configuration,
    wait_until_reviewed,
)
from tests.e2e.webhook.harness import webhook_user as process_user
from tests.e2e.webhook.manifests import BAD, manifest, schema
from tests.support.controlplane.api import Api
from tests.support.controlplane.credentials import User
from tests.support.controlplane.plane import ControlPlane

TRYING = (
    rule("dragoman.dev", "driverconfigschemas", "list", "create"),
    rule(DRA, "deviceclasses", "create"),
)
CLOSING = (
    {
        **rule("admissionregistration.k8s.io", CONFIGURATIONS, "delete"),
        "resourceNames": [NAME],
    },
)


@pytest.fixture
def tester(plane: ControlPlane, schemas: Api) -> User:
    """A user who may create objects; one driver has a schema."""
    schemas.create(schema())
    return plane.user("tester", TRYING)


def run(user: User, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, f"--kubeconfig={user.kubeconfig}"])


def test_verify_is_content_with_a_webhook_that_refuses(
    plane: ControlPlane, tester: User, tmp_path: Path, namespace: str
) -> None:
    with WebhookProcess(plane, process_user(plane), tmp_path) as webhook:
        plane.api().create(configuration(webhook.port, webhook.bundle))
        try:
            wait_until_reviewed(plane, plane.served(manifest("ResourceClaim", namespace, BAD)))
            done = run(tester, "verify", "--timeout=30")
        finally:
            close(plane)
    assert done.exit_code == 0, done.output
    schemas_line, class_line = done.output.splitlines()
    assert schemas_line.startswith("ok  a DriverConfigSchema that does not compile was rejected: ")
    assert class_line.startswith("ok  a DeviceClass with a config that driver gpu.example.com")
    assert plane.api().find("deviceclasses", "dragoman-verify") is None


def test_verify_tells_what_gets_in_where_nobody_is_asked(tester: User) -> None:
    done = run(tester, "verify", "--timeout=0")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("FAILED") and "was let in" in line for line in lines)


def test_verify_does_not_take_another_refusal_for_the_webhooks(
    plane: ControlPlane, tester: User
) -> None:
    assert tester.name == "tester"
    reader = plane.user("reader", TRYING[:1])
    done = run(reader, "verify", "--timeout=0")
    assert done.exit_code == 1
    assert "was answered by something else: deviceclasses.resource.k8s.io is forbidden" in (
        done.output
    )


def test_verify_says_when_there_is_no_schema_to_try(plane: ControlPlane, schemas: Api) -> None:
    assert schemas.list("DriverConfigSchema") == []
    done = run(plane.user("tester", TRYING), "verify", "--timeout=0")
    assert "no DriverConfigSchema enforces anything" in done.output


def test_delete_webhooks_deletes_one_configuration_and_is_content_when_it_is_gone(
    plane: ControlPlane,
) -> None:
    closer = plane.user("closer", CLOSING)
    api = plane.api()
    other = configuration(1)
    other["metadata"]["name"] = "other"
    for document in (configuration(1), other):
        document["webhooks"][0]["failurePolicy"] = "Ignore"
        api.create(document)
    try:
        done = run(closer, "delete-webhooks")
        assert (done.exit_code, done.output) == (
            0,
            f"ValidatingWebhookConfiguration/{NAME} deleted\n",
        )
        again = run(closer, "delete-webhooks")
        assert (again.exit_code, again.output) == (
            0,
            f"ValidatingWebhookConfiguration/{NAME} does not exist\n",
        )
        refused = run(closer, "delete-webhooks", "--webhook-configuration=other")
        assert refused.exit_code == 1
        assert "forbidden" in refused.output
        assert api.find(CONFIGURATIONS, "other") is not None
    finally:
        api.delete(CONFIGURATIONS, "other")
        close(plane)


@pytest.mark.parametrize("command", ["verify", "delete-webhooks"])
def test_an_api_server_that_does_not_answer_is_told_in_one_line(
    command: str, tmp_path: Path
) -> None:
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "users: [{name: a, user: {token: a}}]\n"
    )
    done = CliRunner().invoke(cli, [command, f"--kubeconfig={nowhere}"])
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert line.startswith("Error: ")
    assert "127.0.0.1" in line
