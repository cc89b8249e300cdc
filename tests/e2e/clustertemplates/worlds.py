"""Namespaces with a label, and a ClusterResourceClaimTemplate that selects them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

PLURAL = "clusterresourceclaimtemplates"
TEMPLATES = "resourceclaimtemplates"
DEFINITION = Path(__file__).parents[3] / f"crds/{PLURAL}.yaml"
HASH = "dragoman.dev/template-hash"
LABEL = "dragoman.dev/cluster-template"


def install(plane: ControlPlane) -> None:
    """Apply the CRD, and wait until its objects can be listed."""
    plane.kubectl("apply", "-f", str(DEFINITION))
    wait_for(lambda: served(plane.api()), message=f"{PLURAL} to be served")


def uninstall(plane: ControlPlane) -> None:
    """Delete the CRD; other tests expect a server without it."""
    api = plane.api()
    name = f"{PLURAL}.dragoman.dev"
    api.delete("customresourcedefinitions", name)
    wait_for(lambda: api.find("customresourcedefinitions", name) is None, message="no CRD")


def served(api: Api) -> bool:
    """Whether the API server serves the resource, and no longer opens its storage (429)."""
    try:
        return api.list(PLURAL) is not None
    except (KeyError, ApiError):
        return False


def cluster_template(
    name: str, class_name: str, label: str, conflict: str = "Keep", **template: Any
) -> Json:
    """Return an object that selects namespaces by `team: <label>`."""
    return {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "ClusterResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {"matchLabels": {"team": label}},
            "conflict": conflict,
            "template": {"spec": objects.claim_spec(class_name), **template},
        },
    }


def condition(status: Json) -> Json:
    """Return the condition Ready of a status; an empty one until it is written."""
    found: Sequence[Mapping[str, Any]] = status.get("conditions") or [{}]
    return dict(found[0])


class World:
    """One label, its namespaces, and what a ClusterResourceClaimTemplate made in them.

    Args:
        api: An administrator's client.
        name: Of the object, and value of the label.
    """

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.name = name
        self.namespaces: list[str] = []

    def add_namespaces(self, count: int, **labels: str) -> list[str]:
        """Create namespaces that the selector matches; return their names."""
        first = len(self.namespaces)
        made = [f"{self.name}-{first + index}" for index in range(count)]
        named = {"team": self.name, **labels}
        self.api.create_many(objects.namespace(one, named) for one in made)
        self.namespaces += made
        return made

    def label(self, namespace: str, value: str | None) -> None:
        """Change or remove the label that the selector looks at."""
        self.api.patch("namespaces", namespace, None, {"metadata": {"labels": {"team": value}}})

    def copy(self, namespace: str) -> Json | None:
        """Return the template of the name in a namespace, or None."""
        return self.api.find(TEMPLATES, self.name, namespace)

    def copies(self) -> dict[str, Json]:
        """Return all copies by namespace."""
        listed = self.api.list(TEMPLATES, labelSelector=f"{LABEL}={self.name}")
        return {one["metadata"]["namespace"]: one for one in listed}

    def status(self) -> Json:
        """Return the object's status."""
        status: Json = self.api.get(PLURAL, self.name).get("status") or {}
        return status

    def ready(self) -> Json:
        """Return the condition Ready; an empty one until it is written."""
        return condition(self.status())

    def generation(self) -> int:
        """Return the generation of the spec."""
        generation: int = self.api.get(PLURAL, self.name)["metadata"]["generation"]
        return generation

    def distributed(self, namespaces: int, timeout: float = 60) -> Json:
        """Wait until the status reports so many current copies of this generation, and no more."""
        generation = self.generation()

        def reported() -> Json | None:
            status = self.status()
            done = (
                status.get("observedGeneration") == generation
                and status.get("namespaces") == namespaces
                and condition(status).get("status") == "True"
            )
            return status if done else None

        return wait_for(reported, timeout, f"{namespaces} copies of {self.name}")

    def change(self, class_name: str) -> None:
        """Make the claims of the template use another class."""
        spec = objects.claim_spec(class_name)
        self.api.patch(PLURAL, self.name, None, {"spec": {"template": {"spec": spec}}})

    def clear(self) -> None:
        """Delete the object, its copies, and what the namespaces have of pods and claims."""
        self.api.delete(PLURAL, self.name)
        for namespace in self.namespaces:
            for resource in ("pods", "resourceclaims", TEMPLATES):
                self.api.delete_all(resource, namespace, gracePeriodSeconds=0)
            self.label(namespace, None)
