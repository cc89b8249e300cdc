"""`kubectl apply` in all three versions of resource.k8s.io, and what a person reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.webhook import conftest
from tests.e2e.webhook.harness import (
    WebhookProcess,
    configuration,
    wait_until_reviewed,
    webhook_user,
)
from tests.e2e.webhook.manifests import BAD, GOOD, MAKERS, apply, delete_class, manifest, schema
from tests.support.controlplane.plane import ControlPlane

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
Json = dict[str, Any]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run an API server that serves all versions."""
    with ControlPlane(runtime_config={f"{GROUP}/{one}": True for one in VERSIONS}) as running:
        conftest.install(running)
        yield running


@pytest.fixture(scope="module")
def webhook(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebhookProcess]:
    folder: Path = tmp_path_factory.mktemp("tls")
    with WebhookProcess(plane, webhook_user(plane), folder) as made:
        api = plane.api()
        api.create(schema())
        api.create(configuration(made.port, made.bundle))
        namespace = plane.create_namespace()
        wait_until_reviewed(plane, manifest("ResourceClaim", namespace, BAD))
        yield made
        assert made.faults() == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_bad_config_is_refused_at_kubectl_apply_and_the_corrected_one_is_not(
    plane: ControlPlane, namespace: str, webhook: WebhookProcess, kind: str, version: str
) -> None:
    path = f"{MAKERS[kind][1]}.opaque.parameters.level"
    status, said = apply(plane, manifest(kind, namespace, BAD, version=version))
    assert status == 1
    fault = f'{path}: Invalid value: "high": must be an integer'
    assert f'The {kind} "made" is invalid: {fault}\n' in said
    try:
        status, said = apply(plane, manifest(kind, namespace, GOOD, version=version))
        assert status == 0, said
        assert "/made created\n" in said
    finally:
        delete_class(plane.api())
    assert webhook.ready()
