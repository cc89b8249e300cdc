"""Which API versions are used, by what an API server says that it serves."""

from typing import Any, cast

import pytest

from dragoman.kube.client import Client
from dragoman.kube.discovery import NotServedError, discover
from dragoman.kube.errors import ApiError

GROUPS = ("podgroups", "podgroups/status")


class Answering:
    """An API server that serves these versions of groups, and these resources of scheduling.

    Args:
        versions: By group.
        scheduling: Names of resources by version of scheduling.k8s.io; an error code instead.
    """

    def __init__(
        self,
        versions: dict[str, tuple[str, ...]],
        scheduling: dict[str, tuple[str, ...] | int] | None = None,
    ) -> None:
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


async def found(server: Answering) -> tuple[str, str | None]:
    served = await discover(cast(Client, server))
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
