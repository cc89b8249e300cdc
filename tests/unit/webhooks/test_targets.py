"""Reviews of DeviceMaintenances and DeviceTaintRules: targets that mean nothing, or everything."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.admission import review
from dragoman_webhooks.cache import Caches
from dragoman_webhooks.targets import ANNOTATION, CountDevices, Matches

KINDS = {
    "DeviceMaintenance": ("dragoman.dev", "devicemaintenances", "target"),
    "DeviceTaintRule": ("resource.k8s.io", "devicetaintrules", "deviceSelector"),
}
GPU = {"driver": "gpu.example.com"}


def answer(
    kind: str,
    target: Any,
    *,
    matches: Matches | None = None,
    old: Any = None,
    annotations: Mapping[str, str] | None = None,
) -> str:
    """Return the message of a denial, empty where the object is allowed."""
    group, resource, field = KINDS[kind]

    def document(of: Any) -> dict[str, Any]:
        metadata = {"name": "m", "annotations": dict(annotations or {})}
        return {"kind": kind, "metadata": metadata, "spec": {} if of is None else {field: of}}

    request = {
        "uid": "1",
        "operation": "UPDATE" if old is not None else "CREATE",
        "resource": {"group": group, "version": "v1", "resource": resource},
        "kind": {"kind": kind},
        "object": document(target),
        "oldObject": None if old is None else document(old),
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    count: CountDevices = lambda _: matches  # noqa: E731
    result = review(orjson.dumps(body), Registry(), Caches(count_devices=count))
    response = orjson.loads(result.body)["response"]
    return "" if response["allowed"] else str(response["status"]["message"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [{}, {"driver": ""}])
def test_an_empty_target_is_refused(kind: str, target: Any) -> None:
    field = KINDS[kind][2]
    said = answer(kind, target)
    assert said.startswith(f"spec.{field}: Invalid value: it is empty and matches every device")
    assert f'annotate the object with {ANNOTATION}: "true"' in said
    assert answer(kind, target, annotations={ANNOTATION: "false"})
    assert not answer(kind, target, annotations={ANNOTATION: "true"})


def test_a_rule_without_selector_is_refused() -> None:
    assert "it is empty" in answer("DeviceTaintRule", None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_that_is_stored_already_passes(kind: str) -> None:
    assert not answer(kind, {}, old={})
    assert answer(kind, {}, old=GPU)


@pytest.mark.parametrize(
    ("matches", "said"),
    [
        pytest.param(Matches(True, False, 8), "", id="one of eight"),
        pytest.param(Matches(True, True, 1), "", id="the only one"),
        pytest.param(None, "", id="devices are not known yet"),
        pytest.param(Matches(False, False, 8), "it matches none of 8 devices", id="none"),
        pytest.param(Matches(True, True, 8), "it matches all 8 devices of the cluster", id="all"),
        pytest.param(
            Matches(False, False, 8, "no such key: x"), "where: Invalid value: no such", id="CEL"
        ),
    ],
)
def test_what_a_maintenance_matches_counts(matches: Matches | None, said: str) -> None:
    found = answer("DeviceMaintenance", GPU, matches=matches)
    assert said in found if said else not found
    assert not answer("DeviceTaintRule", GPU, matches=matches)
