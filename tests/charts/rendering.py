"""The chart, rendered by the real helm, without a cluster."""

import copy
import functools
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane import binaries

Json = dict[str, Any]
Values = Mapping[str, Any]
CHART = Path(__file__).parents[2] / "charts/dragoman"
RELEASE, NAMESPACE = "dragoman", "dragoman-system"
REGISTRY = "registry.example.com"
MONITORED = "monitoring.coreos.com/v1"


class RefusedError(Exception):
    """Helm refused; the message is what it printed."""


def render(
    values: Values | None = None,
    *flags: str,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
    chart: Path = CHART,
) -> list[Json]:
    """Return all objects of a release, those of hooks included.

    Values without a registry get one, since the chart demands it.

    Raises:
        RefusedError: Values that cannot be used.
    """
    given = dict(values or {})
    given["image"] = {"registry": REGISTRY, **(given.get("image") or {})}
    asked = json.dumps(given, sort_keys=True)
    text = helm("template", release, str(chart), f"--namespace={namespace}", *flags, values=asked)
    return copy.deepcopy(_parsed(text))


@functools.cache
def _parsed(text: str) -> list[Json]:
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


@functools.cache
def helm(*arguments: str, values: str = "{}") -> str:
    """Run helm with values as JSON; return what it printed.

    Raises:
        RefusedError: It failed.
    """
    program = binaries.find(["helm"])["helm"]
    done = subprocess.run(
        [program, *arguments, "--values=-"],
        input=values,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefusedError(done.stderr + done.stdout)
    return done.stdout


def one(documents: list[Json], kind: str, name: str) -> Json:
    """Return the object of this kind and name; there must be exactly one."""
    (found,) = [
        document
        for document in documents
        if document["kind"] == kind and document["metadata"]["name"] == name
    ]
    return found


def names(documents: list[Json], kind: str) -> list[str]:
    """Return the names of all objects of a kind."""
    return sorted(one["metadata"]["name"] for one in documents if one["kind"] == kind)


def pods(documents: list[Json]) -> Iterator[tuple[str, Json]]:
    """Yield every pod, also those of Deployments and Jobs, with the name of its object."""
    for document in documents:
        if document["kind"] == "Pod":
            yield document["metadata"]["name"], document
        elif "template" in document.get("spec", {}):
            yield document["metadata"]["name"], document["spec"]["template"]


def arguments(documents: list[Json], component: str) -> list[str]:
    """Return the arguments of the container of a part."""
    deployment = one(documents, "Deployment", f"{RELEASE}-{component}")
    listed: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return listed
