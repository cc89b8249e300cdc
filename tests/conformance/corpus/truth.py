"""What is true of a finding: by an API server, and by Kubernetes' own CEL on devices of drivers.

Nothing here asks the product. `devices.json` has devices as the code of each driver publishes them,
with the source; the oracle evaluates selectors with k8s.io/dynamic-resource-allocation.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.corpus.layouts import Tree, written
from tests.conformance.manifests.verdicts import verdict
from tests.conformance.oracle import Oracle
from tests.support.controlplane.api import Api, ApiError

GROUP = "resource.k8s.io"
LABELLED = "monitoring"
"""A namespace with the label that admin access needs."""
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_GATE = re.compile(r"needs the feature gate (\w+), which is off by default")
_ENABLED = re.compile(r'kubernetes_feature_enabled{name="(\w+)",[^}]*} 1')
_NEVER = frozenset(
    {
        "dra/never-matches",
        "dra/attribute-unknown",
        "dra/cel-invalid",
        "dra/attribute-type",
        "dra/attribute-is-capacity",
    }
)
_FEATURES = {"consumableCapacity": True, "listAttributes": False, "newExpressions": True}
DEVICES: list[Tree] = json.loads(Path(__file__).with_name("devices.json").read_text())


class Truth:
    """Judges findings with one API server.

    Args:
        api: Of the server.
        oracle: Kubernetes' CEL.
    """

    def __init__(self, api: Api, oracle: Oracle) -> None:
        self._api = api
        self._oracle = oracle
        self._refusals: dict[str, str] = {}
        self._preferred = api.request("GET", f"/apis/{GROUP}")["preferredVersion"]["version"]
        counted = api.request("GET", "/metrics", accept="text/plain")
        self._on = frozenset(_ENABLED.findall(counted))
        labels = {"resource.kubernetes.io/admin-access": "true"}
        namespace = {"name": LABELLED, "labels": labels}
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})

    def refusal(self, tree: Tree) -> str:
        """Return why the server refuses an object; empty where it takes it."""
        text = written(tree)
        if text not in self._refusals:
            self._refusals[text] = verdict(self._api, text)
        return self._refusals[text]

    def of(self, finding: Tree, trees: list[Tree]) -> bool | None:
        """Tell whether a finding is true of objects that a server takes; None where nobody knows.

        Args:
            finding: As `-o json` prints it.
            trees: The objects of its file.
        """
        rule, path = finding["id"], finding["path"]
        kind = finding["object"].partition(" ")[0]
        of_kind = [one for one in trees if one["kind"] == kind]
        subject = next((one for one in of_kind if _title(one) == finding["object"]), None)
        if subject is None and len(of_kind) == 1:
            subject = of_kind[0]  # its name has a placeholder
        if subject is None:
            return None
        if gate := _GATE.search(finding["message"]):
            off = gate[1] not in self._on
            return off and ("drops" not in finding["message"] or self._dropped(path, subject))
        if rule in _NEVER or rule == "dra/cel-unguarded":
            return self._of_devices(rule, path, subject)
        judges: dict[str, Callable[[], bool]] = {
            "dra/api-old": lambda: self._preferred != subject["apiVersion"].partition("/")[2],
            "dra/off-by-default": lambda: bool(self.refusal(subject)),
            "dra/admin-access": lambda: self._needs_label(subject),
            "dra/reference-missing": lambda: _reach(subject, path) not in _names(trees),
            "dra/shared-claim": lambda: _several(subject),
            "dra/claim-unused": lambda: _reach(subject, path)["name"] not in _used(subject),
            "dra/node-name": lambda: "nodeName" in str(subject),
        }
        return judges[rule]() if rule in judges else None

    def _of_devices(self, rule: str, path: str, subject: Tree) -> bool | None:
        value = _reach(subject, path)
        requests = subject["spec"].get("devices", subject["spec"].get("spec", {}).get("devices"))
        name = _class(requests["requests"][0]) if requests else ""
        devices = [one for one in DEVICES if one["class"] == name] or DEVICES
        if rule != "dra/cel-unguarded":
            devices = [one for one in devices if not one.get("former")]
        if ".constraints[" in path:
            domain, _, attribute = value.partition("/")
            return not any(_has(one, domain, attribute) for one in devices)
        answers = [self._answer(value, one) for one in devices]
        if rule == "dra/cel-unguarded":
            return any("match_error" in one for one in answers)
        return not any(one.get("match") for one in answers)

    def _answer(self, expression: str, device: Tree) -> Tree:
        published = {name: device[name] for name in ("attributes", "capacity", "driver")}
        asked = {"op": "dra", "expression": expression, "device": published}
        return self._oracle.ask({**asked, "features": _FEATURES})

    def _dropped(self, path: str, subject: Tree) -> bool:
        """Tell whether the server refuses an object, or stores it without a field."""
        group, version = subject["apiVersion"].split("/")
        plural = f"{subject['kind'].lower()}{'es' if subject['kind'].endswith('s') else 's'}"
        place = f"/apis/{group}/{version}"
        if subject["kind"] in ("ResourceClaim", "ResourceClaimTemplate"):
            place += "/namespaces/default"
        try:
            stored = self._api.request("POST", f"{place}/{plural}", dict(subject), dryRun="All")
        except ApiError:
            return True
        try:
            return _reach(stored, path) is None
        except (KeyError, IndexError, TypeError):
            return True

    def _needs_label(self, subject: Tree) -> bool:
        there = {**subject, "metadata": {**subject["metadata"], "namespace": LABELLED}}
        return bool(self.refusal(subject)) and not self.refusal(there)


def _title(tree: Tree) -> str:
    metadata = tree["metadata"]
    place = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{tree['kind']} {place}{metadata['name']}"


def _reach(tree: Tree, path: str) -> Any:
    steps = [name or (int(at) if at.isdigit() else at) for name, at in _STEP.findall(path)]
    value: Any = tree
    for step in steps:
        value = value[step]
    return value


def _class(request: Tree) -> str:
    bodies = [request.get("exactly"), *request.get("firstAvailable", []), request]
    return next((one["deviceClassName"] for one in bodies if one and "deviceClassName" in one), "")


def _has(device: Tree, domain: str, name: str) -> bool:
    known = device["attributes"]
    return f"{domain}/{name}" in known or (domain == device["driver"] and name in known)


def _names(trees: list[Tree]) -> set[str]:
    return {one["metadata"]["name"] for one in trees}


def _nodes(value: Any) -> Iterator[Tree]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from _nodes(one)


def _several(subject: Tree) -> bool:
    spec = subject["spec"]
    many = (
        subject["kind"] == "DaemonSet"
        or max(spec.get("replicas", 1), spec.get("parallelism", 1)) > 1
    )
    return many and any("resourceClaimName" in one for one in _nodes(spec))


def _used(subject: Tree) -> set[str]:
    found = [one["resources"] for one in _nodes(subject) if isinstance(one.get("resources"), dict)]
    return {claim["name"] for one in found for claim in one.get("claims", [])}
