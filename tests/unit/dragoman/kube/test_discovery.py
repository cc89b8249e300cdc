"""Which API versions are used, by what an API server says that it serves."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from dragoman.kube.client import Client
from dragoman.kube.discovery import NotServedError, discover
from dragoman.kube.errors import ApiError
from dragoman.settings import PodGroupClaims

GROUPS = ("podgroups", "podgroups/status")


class Answering:
    """An API server that serves these versions of groups, and these resources of scheduling.

    Args:
        versions: By group.
        scheduling: Names of resources by version of scheduling.k8s.io; an error code instead.
        metrics: Lines of /metrics; an error code instead.
    """

    def __init__(
        self,
        versions: dict[str, tuple[str, ...]],
        scheduling: dict[str, tuple[str, ...] | int] | None = None,
        metrics: tuple[bytes, ...] | int = 403,
    ) -> None:
        self.metrics = metrics
        self.metrics_read = 0
        self.scheduling = scheduling or {}
        self.versions = {**versions, "scheduling.k8s.io": tuple(self.scheduling)}

    async def get(self, path: str) -> dict[str, Any]:
        if path == "/apis":
            groups = [
                {"name": name, "versions": [{"version": one} for one in versions]}
                for name, versions in self.versions.items()
            ]
            return {"groups": groups}
        resources = self.scheduling[path.rpartition("/")[2]]
        if isinstance(resources, int):
            raise ApiError(resources, "Unknown", "no")
        return {"resources": [{"name": name} for name in resources]}

    async def lines(
        self, path: str, query: dict[str, str], wanted: Callable[[bytes], bool]
    ) -> AsyncIterator[bytes]:
        assert (path, query) == ("/metrics", {})
        self.metrics_read += 1
        if isinstance(self.metrics, int):
            raise ApiError(self.metrics, "Forbidden", "no")
        for line in self.metrics:
            if wanted(line):
                yield line


async def found(
    server: Answering, podgroup_claims: PodGroupClaims = "auto"
) -> tuple[str, str | None]:
    served = await discover(cast(Client, server), podgroup_claims)
    assert served.templates.api_version == served.claims.api_version
    assert served.templates.plural == "resourceclaimtemplates"
    groups = served.groups.api_version if served.groups is not None else None
    return served.claims.api_version, groups


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (("v1", "v1beta2", "v1beta1"), "v1"),
        (("v1beta1", "v1"), "v1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1alpha3", "v1beta1"), "v1beta1"),
    ],
)
async def test_the_best_version_that_is_served_is_used(
    versions: tuple[str, ...], chosen: str
) -> None:
    claims, groups = await found(Answering({"apps": ("v1",), "resource.k8s.io": versions}))
    assert (claims, groups) == (f"resource.k8s.io/{chosen}", None)


@pytest.mark.parametrize(
    ("versions", "instead"),
    [
        ({"apps": ("v1",)}, "no version of it"),
        ({"resource.k8s.io": ("v1alpha3",)}, "v1alpha3"),
        ({}, "no version of it"),
    ],
)
async def test_without_resource_claims_it_says_what_there_is_instead(
    versions: dict[str, tuple[str, ...]], instead: str
) -> None:
    with pytest.raises(NotServedError, match=f"but {instead}: .* needs Kubernetes >= 1.34"):
        await found(Answering(versions))


@pytest.mark.parametrize(
    ("scheduling", "chosen"),
    [
        ({"v1alpha2": GROUPS}, "scheduling.k8s.io/v1alpha2"),
        ({"v1": ("priorityclasses",), "v1alpha2": GROUPS}, "scheduling.k8s.io/v1alpha2"),
        ({"v1alpha1": ("podgroups",)}, None),
        ({"v1": ("priorityclasses",)}, None),
        ({"v1alpha1": 404, "v1alpha2": GROUPS}, "scheduling.k8s.io/v1alpha2"),
    ],
    ids=[
        "served",
        "served in another version than the first",
        "without a status to write",
        "only other resources",
        "a version that went away meanwhile",
    ],
)
async def test_pod_groups_are_used_where_they_have_a_status(
    scheduling: dict[str, tuple[str, ...] | int], chosen: str | None
) -> None:
    server = Answering({"resource.k8s.io": ("v1",)}, scheduling)
    assert (await found(server))[1] == chosen


async def test_an_api_server_that_cannot_answer_is_asked_again_later() -> None:
    with pytest.raises(ApiError):
        await found(Answering({"resource.k8s.io": ("v1",)}, {"v1alpha2": 503}))


GATE = b'kubernetes_feature_enabled{name="DRAWorkloadResourceClaims",stage="ALPHA"} '
OTHER = b'kubernetes_feature_enabled{name="DRAWorkload",stage="ALPHA"} 0'
MENTION = b'something_else{name="DRAWorkloadResourceClaims"} 0'


@pytest.mark.parametrize(
    ("metrics", "setting", "used"),
    [
        ((OTHER, MENTION, GATE + b"1"), "auto", True),
        ((OTHER, MENTION, GATE + b"0"), "auto", False),
        ((OTHER, MENTION), "auto", True),
        (403, "auto", True),
        (0, "auto", True),
        ((GATE + b"0",), "on", True),
        ((GATE + b"1",), "off", False),
    ],
    ids=[
        "the gate is on",
        "the gate is off",
        "no such gate",
        "metrics forbidden",
        "connection broken",
        "set to on",
        "set to off",
    ],
)
async def test_pod_groups_have_claims_as_the_gate_or_the_setting_says(
    metrics: tuple[bytes, ...] | int, setting: PodGroupClaims, *, used: bool
) -> None:
    server = Answering({"resource.k8s.io": ("v1",)}, {"v1alpha2": GROUPS}, metrics)
    assert ((await found(server, setting))[1] is not None) == used


async def test_metrics_are_not_read_where_no_pod_group_is_served() -> None:
    server = Answering({"resource.k8s.io": ("v1",)}, {"v1": ("priorityclasses",)})
    assert (await found(server))[1] is None
    assert server.metrics_read == 0
