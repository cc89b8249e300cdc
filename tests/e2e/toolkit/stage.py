"""Random clusters on the control plane, and what its scheduler decides about their pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.schedulersync import SchedulerSync
from tests.support.worlds.randomclusters import ADMIN, World


class Stage:
    """Worlds on a control plane.

    Args:
        plane: With its scheduler running.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.api: Api = plane.api()
        self.sync = SchedulerSync(plane)

    def build(self, worlds: Iterable[World]) -> None:
        """Create what belongs to worlds, all side by side, and let the scheduler see it."""
        manifests: list[Mapping[str, Any]] = []
        for world in worlds:
            manifests.append(objects.namespace(world.name, {ADMIN: "true"}))
            manifests += world.manifests
        self.api.in_parallel(self._create, manifests)
        self.sync.create()
        self.sync.wait()

    def remove(self, worlds: Iterable[World]) -> None:
        """Delete it all; namespaces stay, empty."""
        there = list(worlds)
        self.sync.delete()
        self.api.in_parallel(self.plane.clear_namespace, [world.name for world in there])
        self.api.in_parallel(self._delete, [one for world in there for one in world.manifests])

    def add(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Create objects side by side, claims before pods."""
        ordered = list(manifests)
        claims = [one for one in ordered if one["kind"] != "Pod"]
        self.api.in_parallel(self.api.create, claims)
        self.api.in_parallel(self.api.create, [one for one in ordered if one["kind"] == "Pod"])

    def settled(self, pods: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Json]:
        """Wait until the scheduler has decided on pods, by namespace and name; return them."""
        wanted = set(pods)
        assert wanted, "no pods to wait for"

        def decided() -> dict[tuple[str, str], Json] | None:
            found = {key: pod for key, pod in self.pods().items() if key in wanted}
            settled = len(found) == len(wanted) and all(map(_decided, found.values()))
            return found if settled else None

        return wait_for(decided, 120, f"decisions about {len(wanted)} pods", every=0.3)

    def pods(self) -> dict[tuple[str, str], Json]:
        """Return all pods by namespace and name, in one request."""
        listed = self.api.list("pods")
        return {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in listed}

    def _delete(self, manifest: Mapping[str, Any]) -> None:
        self.api.delete(self.api.home(manifest).plural, manifest["metadata"]["name"])

    def _create(self, manifest: Mapping[str, Any]) -> None:
        try:
            self.api.create(manifest)
        except ApiError as error:
            if error.code != 409:
                raise


def _decided(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) or refusal(pod) is not None


def refusal(pod: Json) -> Json | None:
    """Return the condition by which the scheduler refused a pod."""
    conditions: Iterator[Json] = (
        one
        for one in pod["status"].get("conditions") or ()
        if one["type"] == "PodScheduled" and one["status"] == "False" and one.get("reason")
    )
    return next(conditions, None)
