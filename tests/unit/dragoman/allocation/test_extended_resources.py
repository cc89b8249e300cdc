"""The claim for extended resources, as kube-scheduler makes it."""

from typing import Any

import pytest

from dragoman.allocation import (
    Allocated,
    ExtendedResources,
    allocate,
    class_of,
    extended_resources,
    parse_node,
    profile,
)
from tests.unit.dragoman.allocation.objects import Json, cluster, device, device_class, slice_

RESOURCE = "example.com/gpu"


def container(name: str, count: Any = 0, **more: Any) -> Json:
    requests = {"cpu": "1", **({RESOURCE: str(count)} if count else {})}
    return {"name": name, "resources": {"requests": requests}, **more}


def pod(*containers: Json, init: list[Json] | None = None) -> Json:
    spec = {"containers": list(containers), "initContainers": init or []}
    return {"metadata": {"name": "pod", "namespace": "default"}, "spec": spec}


def needs(document: Json, allocatable: Json | None = None, **of: Any) -> ExtendedResources:
    node = parse_node(
        {"metadata": {"name": "node-1"}, "status": {"allocatable": allocatable or {}}}
    )
    classes = [device_class("gpu", extendedResourceName=RESOURCE)]
    return extended_resources(document, node, cluster(classes=classes, **of))


def requested(found: ExtendedResources) -> dict[str, int]:
    assert found.claim is not None
    return {
        request.name: request.exactly.count
        for request in found.claim.spec.requests
        if request.exactly is not None
    }


def test_each_container_gets_a_request_named_after_its_place() -> None:
    found = needs(pod(container("a", 2), container("b"), container("c", 1)))
    assert requested(found) == {"container-0-request-1": 2, "container-2-request-1": 1}
    assert [(one.container, one.request) for one in found.mappings] == [
        ("a", "container-0-request-1"),
        ("c", "container-2-request-1"),
    ]
    assert found.claim is not None
    assert found.claim.key == "default/<extended-resources>"


def test_init_containers_use_devices_of_later_ones_and_share_what_they_need_beyond() -> None:
    init = [container("i0", 3), container("i1", 5), container("s", 1, restartPolicy="Always")]
    found = needs(pod(container("a", 2), init=init))
    # Three devices are there for i0 and i1 anyway; i1 needs two more.
    assert requested(found) == {
        "container-1-request-1": 2,
        "container-2-request-1": 1,
        "container-3-request-1": 2,
    }


def test_a_device_plugin_comes_before_the_class() -> None:
    assert needs(pod(container("a", 1)), {RESOURCE: "4"}).claim is None
    assert needs(pod(container("a", 1)), {RESOURCE: "0"}).claim is not None


def test_a_resource_that_nobody_provides_rules_the_node_out() -> None:
    other = container("a", 1)
    other["resources"]["requests"]["example.com/tpu"] = "1"
    assert needs(pod(other)).missing == "example.com/tpu"
    assert needs(pod(other), {"example.com/tpu": "1"}).missing == ""


@pytest.mark.parametrize("count", ["1500m", "0", "much"])
def test_what_is_no_number_of_devices_needs_none(count: str) -> None:
    assert needs(pod(container("a", count))).claim is None


def test_without_the_feature_there_is_no_claim() -> None:
    off = profile("1.36", {"DRAExtendedResource": False})
    assert needs(pod(container("a", 1)), of=off) == ExtendedResources()


def test_of_two_classes_the_newer_one_counts_then_the_lower_name() -> None:
    def named(name: str, day: int) -> Json:
        found = device_class(name, extendedResourceName=RESOURCE)
        found["metadata"]["creationTimestamp"] = f"2026-01-{day:02d}T00:00:00Z"
        return found

    world = cluster(classes=[named("c", 2), named("b", 2), named("a", 1)])
    found = class_of(RESOURCE, world.classes)
    assert found is not None
    assert found.name == "b"
    implicit = class_of("deviceclass.resource.kubernetes.io/a", world.classes)
    assert implicit is not None
    assert implicit.name == "a"


def test_the_claim_can_be_allocated() -> None:
    classes = [device_class("gpu", extendedResourceName=RESOURCE)]
    world = cluster(slice_("s", [device("d0"), device("d1")]), classes=classes)
    found = extended_resources(pod(container("a", 2)), world.nodes["node-1"], world)
    assert found.claim is not None
    outcome = allocate("node-1", [found.claim], world)
    assert isinstance(outcome, Allocated)
    assert [one.device for one in outcome.allocations[0].devices] == ["d0", "d1"]


def test_pods_that_need_the_same_share_what_is_found_out_about_devices() -> None:
    first, second = needs(pod(container("a", 2))), needs(pod(container("b", 2)))
    other = needs(pod(container("a", 3)))
    assert first.claim
    assert second.claim
    assert other.claim
    assert first.claim.spec is second.claim.spec
    assert first.claim.spec is not other.claim.spec
