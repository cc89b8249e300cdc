"""What holds for every installation: valid manifests, hardened pods, names and labels."""

import json
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest

from tests.charts.matrix import MATRIX
from tests.charts.rendering import CHART, Json, Values, helm, names, pods, render

matrix = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
CUSTOM = {"CustomResourceDefinition", "ServiceMonitor", "PodMonitor", "PrometheusRule"} | {
    "Certificate",
    "Issuer",
}
VERSIONS = (
    "1.34",
    # Versions in between are what real API servers are asked for: tests/e2e/chart/test_accepted.py.
    pytest.param("1.37", marks=pytest.mark.slow),
)
STANDARD = {"name", "instance", "component", "version", "managed-by", "part-of"}


@matrix
def test_helm_lints_it_without_a_complaint(values: Values) -> None:
    said = helm("lint", "--strict", "--quiet", str(CHART), values=json.dumps(values))
    assert "ERROR" not in said
    assert "WARNING" not in said


@pytest.mark.parametrize("version", VERSIONS)
@matrix
def test_every_object_fits_the_schema_of_its_kind(values: Values, version: str) -> None:
    checked = [one for one in render(values) if one["kind"] not in CUSTOM]
    assert checked
    for document in checked:
        kubernetes_validate.validate(document, version, strict=True)


@matrix
def test_every_pod_is_as_restricted_as_pod_security_asks(values: Values) -> None:
    found = list(pods(render(values)))
    assert found
    for name, pod in found:
        assert list(unrestricted(pod["spec"])) == [], name


@matrix
def test_every_pod_can_write_nothing_but_its_tmp(values: Values) -> None:
    for name, pod in pods(render(values)):
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
            writable = {one["mountPath"] for one in container["volumeMounts"] if not is_fixed(one)}
            assert writable <= {"/tmp", "/certificates"}, name


@matrix
def test_tokens_are_mounted_by_pods_that_talk_to_the_api_server_and_by_nobody_else(
    values: Values,
) -> None:
    documents = render(values)
    accounts = [one for one in documents if one["kind"] == "ServiceAccount"]
    assert all(one["automountServiceAccountToken"] is False for one in accounts)
    for _, pod in pods(documents):
        assert pod["spec"]["automountServiceAccountToken"] is True
        assert pod["spec"]["serviceAccountName"] in names(documents, "ServiceAccount")


@matrix
def test_every_object_has_the_labels_that_tools_look_for(values: Values) -> None:
    for document in render(values):
        if document["metadata"]["name"] in {"extra", "dragoman-text"}:
            continue
        labels = document["metadata"]["labels"]
        assert {f"app.kubernetes.io/{name}" for name in STANDARD} <= labels.keys()
        assert labels["helm.sh/chart"].startswith("dragoman-")


@matrix
def test_no_two_objects_have_one_name(values: Values) -> None:
    found = [
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in render(values)
    ]
    assert len(found) == len(set(found))


@matrix
def test_namespaced_objects_name_the_namespace_of_the_release(values: Values) -> None:
    for document in render(values):
        if "namespace" in document["metadata"]:
            assert document["metadata"]["namespace"] == "dragoman-system"


@matrix
def test_every_container_has_requests_and_a_limit_of_memory(values: Values) -> None:
    for name, pod in pods(render(values)):
        (container,) = pod["spec"]["containers"]
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
        assert "memory" in container["resources"]["limits"], name


def is_fixed(mount: Json) -> bool:
    """Whether a mount can only be read."""
    return bool(mount.get("readOnly"))


def unrestricted(spec: Json) -> Iterator[str]:
    """Yield what the Pod Security Standard `restricted` forbids in a pod."""
    if spec.get("hostNetwork") or spec.get("hostPID") or spec.get("hostIPC"):
        yield "namespaces of the host"
    security: Any = spec.get("securityContext", {})
    if security.get("runAsNonRoot") is not True:
        yield "root"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "seccomp"
    if "runAsUser" in security:
        yield "a user that OpenShift would refuse"
    for volume in spec.get("volumes", ()):
        if not {"configMap", "emptyDir", "projected", "secret"} & volume.keys():
            yield f"volume {volume['name']}"
    for container in spec["containers"]:
        context = container.get("securityContext", {})
        if context.get("allowPrivilegeEscalation") is not False:
            yield "privilege escalation"
        if context.get("capabilities") != {"drop": ["ALL"]}:
            yield "capabilities"
