"""What a driver's account is tried with, and what the answers show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from dragoman.kube.errors import ApiError
from dragoman_toolkit.doctor.driverrights import (
    TOO_WIDE,
    DryRunAnswer,
    Existing,
    Identity,
    attempts,
    faults,
)
from dragoman_toolkit.dra.doctor.probing import NoDryRunError, examine

DRIVER = Identity("gpu.example.com", "gpu", "plugin", "plugin-1", "pod-uid", "node-1", "node-uid")
VERSIONS = ("v1", "v1beta1")
SLICE = Existing("slice-2", "pool-of-node-2")


def test_a_token_of_the_pod_is_impersonated() -> None:
    shown = DRIVER.impersonated()
    assert shown["as"] == "system:serviceaccount:gpu:plugin"
    assert "system:serviceaccounts:gpu" in shown["as-groups"]
    assert shown["as-user-extra"]["authentication.kubernetes.io/node-name"] == ["node-1"]


def test_each_version_is_tried_with_the_own_node_first() -> None:
    tried = [
        (one.version, one.verb, one.node) for one in attempts(DRIVER, "node-2", SLICE, VERSIONS)
    ]
    for version in VERSIONS:
        assert [one[1:] for one in tried if one[0] == version] == [
            ("create", "node-1"),
            ("create", "node-2"),
            ("update", "node-2"),
            ("patch", "node-2"),
            ("delete", "node-2"),
        ]


def answers(*allowed: str) -> list[DryRunAnswer]:
    """Return refusals of everything on the other node but for these versions."""
    return [
        DryRunAnswer(one, 0 if one.node == "node-1" or one.version in allowed else 422, "policy")
        for one in attempts(DRIVER, "node-2", None, VERSIONS)
    ]


def test_refusals_in_every_version_are_in_order() -> None:
    assert list(faults(DRIVER, answers(), [])) == []


def test_a_version_that_the_policy_forgot_is_named() -> None:
    [fault] = faults(DRIVER, answers("v1beta1"), [])
    assert "may write slices of node-2 (v1beta1: create)" in fault.what
    assert "ValidatingAdmissionPolicy" in fault.remedy


def test_permissions_that_drivers_do_not_need_are_named() -> None:
    [fault] = faults(DRIVER, answers(), [TOO_WIDE[1]])
    assert "get secrets" in fault.what


@dataclass
class Server:
    """A client of an API server with a policy for some versions."""

    covered: tuple[str, ...] = VERSIONS
    sees_dry_runs: bool = True
    requests: list[tuple[str, str, Any]] = field(default_factory=list)

    async def get(self, path: str) -> Mapping[str, Any]:
        assert path == "/apis"
        versions = [{"version": one} for one in VERSIONS]
        return {"groups": [{"name": "resource.k8s.io", "versions": versions}]}

    async def request(
        self, method: str, path: str, body: Any, _kind: str = "", query: Any = None
    ) -> Mapping[str, Any]:
        self.requests.append((method, path, query))
        if query == {"dryRun": "None"}:
            field = "dryRun" if self.sees_dry_runs else "metadata.name"
            raise ApiError(422, "Invalid", f"{field}: Unsupported value")
        if path.endswith("selfsubjectaccessreviews"):
            return {"status": {"allowed": False}}
        version = path.split("/")[3]
        own = body.get("spec", {}).get("nodeName") == "node-1"
        if version in self.covered and not own:
            raise ApiError(422, "Invalid", "may not modify resourceslices on node node-2")
        return {}


async def test_every_write_is_a_dry_run() -> None:
    server = Server()
    assert await examine(server, DRIVER, "node-2", SLICE) == []  # type: ignore[arg-type]
    assert {one[2]["dryRun"] for one in server.requests[1:]} == {"All"}
    assert server.requests[0][2] == {"dryRun": "None"}


async def test_an_uncovered_version_is_found() -> None:
    server = Server(covered=("v1",))
    [fault] = await examine(server, DRIVER, "node-2", SLICE)  # type: ignore[arg-type]
    assert "v1beta1: create, update, patch, delete" in fault.what


async def test_nothing_is_tried_where_dry_runs_are_not_seen() -> None:
    server = Server(sees_dry_runs=False)
    with pytest.raises(NoDryRunError):
        await examine(server, DRIVER, "node-2", SLICE)  # type: ignore[arg-type]
    assert len(server.requests) == 1


def test_an_update_keeps_what_the_api_server_lets_nobody_change() -> None:
    (update, *_) = (
        one for one in attempts(DRIVER, "node-2", SLICE, ("v1",)) if one.verb == "update"
    )
    assert (update.method, update.path.rpartition("/")[2]) == ("PUT", "slice-2")
    spec = update.body["spec"]
    assert (spec["driver"], spec["nodeName"]) == ("gpu.example.com", "node-2")
    assert spec["pool"]["name"] == "pool-of-node-2"
