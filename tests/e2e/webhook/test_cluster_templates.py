"""Driver configs in ClusterResourceClaimTemplates are reviewed as those of templates."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clustertemplates.worlds import install, uninstall
from tests.e2e.webhook.harness import (
    WebhookProcess,
    close,
    configuration,
    wait_until_reviewed,
    webhook_user,
)
from tests.e2e.webhook.manifests import BAD, GOOD, manifest, schema
from tests.support.controlplane.api import Api, ApiError, Json
from tests.support.controlplane.plane import ControlPlane


@pytest.fixture
def api(plane: ControlPlane, tmp_path: Path, namespace: str, schemas: Api) -> Iterator[Api]:
    """Serve the kind, and review it with one schema."""
    install(plane)
    try:
        with WebhookProcess(plane, webhook_user(plane), tmp_path) as webhook:
            schemas.create(schema())
            plane.api().create(configuration(webhook.port, webhook.bundle, "Fail"))
            probe = manifest("ResourceClaim", namespace, BAD, name="probe")
            wait_until_reviewed(plane, plane.served(probe))
            yield schemas
            assert webhook.faults() == []
    finally:
        close(plane)
        uninstall(plane)


def cluster_template(parameters: Json) -> Json:
    template = manifest("ResourceClaimTemplate", "any", parameters)
    return {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "ClusterResourceClaimTemplate",
        "metadata": {"name": "made"},
        "spec": {"namespaceSelector": {}, "template": template["spec"]},
    }


def test_a_bad_config_is_denied_with_its_path_at_creation_and_at_a_change(api: Api) -> None:
    path = "spec.template.spec.devices.config[0].opaque.parameters.level"
    with pytest.raises(ApiError) as refused:
        api.create(cluster_template(BAD))
    assert [cause["field"] for cause in refused.value.details["causes"]] == [path]
    stored = api.create(cluster_template(GOOD))
    with pytest.raises(ApiError) as refused:
        api.update({**stored, "spec": cluster_template(BAD)["spec"]})
    assert [cause["field"] for cause in refused.value.details["causes"]] == [path]
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert api.patch("clusterresourceclaimtemplates", "made", None, labels)
