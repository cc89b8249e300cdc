"""What a default installation looks like, concern by concern: `python -m tests.charts.snapshots`.

Each snapshot is small enough to be read in a review. They are compared, and written anew by that
command.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.charts.matrix import MATRIX
from tests.charts.rendering import Json, one, pods, render

FOLDER = Path(__file__).with_name("snapshots")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle")
SECURITY = ("securityContext", "automountServiceAccountToken", "enableServiceLinks")


def containers(*keys: str) -> Json:
    """Return some keys of the container of every pod."""
    return {
        name: {key: pod["spec"]["containers"][0].get(key) for key in keys}
        for name, pod in pods(render())
    }


def security() -> Json:
    """Return what makes pods restricted."""
    inside = containers("securityContext")
    return {
        name: {**{key: pod["spec"].get(key) for key in SECURITY}, "container": inside[name]}
        for name, pod in pods(render())
    }


def webhooks() -> Any:
    """Return what the API server is told to ask."""
    return one(render(), "ValidatingWebhookConfiguration", "dragoman")["webhooks"]


def services() -> Json:
    """Return who can be called where."""
    return {
        document["metadata"]["name"]: document["spec"]
        for document in render()
        if document["kind"] == "Service"
    }


def labels() -> Json:
    """Return the labels of the webhook's Deployment, its pods and its selector."""
    deployment = one(render(), "Deployment", "dragoman-webhook")
    return {
        "deployment": deployment["metadata"]["labels"],
        "selector": deployment["spec"]["selector"]["matchLabels"],
        "pods": deployment["spec"]["template"]["metadata"]["labels"],
    }


def policies() -> Json:
    """Return the NetworkPolicies of an installation that is fenced in."""
    return {
        document["metadata"]["name"]: document["spec"]
        for document in render(MATRIX["fenced in"])
        if document["kind"] == "NetworkPolicy"
    }


SNAPSHOTS: dict[str, Callable[[], Any]] = {
    "arguments": lambda: containers("args", "env"),
    "labels": labels,
    "network-policies": policies,
    "probes": lambda: containers(*PROBES),
    "resources": lambda: containers("resources"),
    "security": security,
    "services": services,
    "webhooks": webhooks,
}


def written(concern: str) -> str:
    """Return the text of a snapshot as it is now."""
    return yaml.safe_dump(SNAPSHOTS[concern](), sort_keys=True, width=100)


def path(concern: str) -> Path:
    """Return where a snapshot is kept."""
    return FOLDER / f"{concern}.yaml"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SNAPSHOTS:
        path(name).write_text(written(name))
