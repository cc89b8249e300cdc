"""`dra/unknown-kind`: kinds of DRA, and of what makes pods, that no API server has.

An API server answers `no matches for kind`; until it is asked, such a manifest looks like one of a
custom resource and would pass every other rule.
"""

import re
from collections.abc import Iterator

from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.findings.finding import ERROR, WARNING, Problem
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import GROUP, Object
from dragoman_toolkit.linting.rules.versions import REMOVED_KINDS

UNKNOWN_KIND = "dra/unknown-kind"
_POD_KINDS = {
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("Pod", "PodTemplate", "ReplicationController"), "v1"),
}

_GROUPS = re.compile(
    r"(admissionregistration|apiextensions|apiregistration|authentication|(rbac\.)?authorization"
    r"|certificates|coordination|discovery|events|flowcontrol\.apiserver|networking|node|scheduling"
    r"|storage|storagemigration)\.k8s\.io"
)
"""Groups of Kubernetes' own API server with a dot in their name; their kinds are all known."""


def check_kind(obj: Object, context: Context) -> Iterator[Problem]:
    """Find a kind that no server has; the object has no schema."""
    kinds = context.api.kinds_of(GROUP)
    if obj.in_group or obj.api_version in (GROUP, f"{GROUP}/"):
        yield from _in_group(obj, context, kinds)
    elif obj.kind in kinds and _of_kubernetes(obj.group):
        newest = context.api.newest(GROUP, obj.kind)
        message = f"{obj.api_version or '(no apiVersion)'} has no kind {obj.kind}"
        yield Problem(UNKNOWN_KIND, ("apiVersion",), message, f"write {GROUP}/{newest}", ERROR)
    elif obj.kind in kinds and _nearly(obj.group):
        message = f"no API server has the group {obj.group}"
        severity = ERROR if obj.group.endswith(".k8s.io") else WARNING
        yield Problem(UNKNOWN_KIND, ("apiVersion",), message, f'did you mean "{GROUP}"?', severity)
    elif obj.kind in _POD_KINDS and obj.pod_specs and _of_kubernetes(obj.group):
        message = f"no API server has {obj.api_version or '(no apiVersion)'} {obj.kind}"
        advice = f"write {_POD_KINDS[obj.kind]}"
        yield Problem(UNKNOWN_KIND, ("apiVersion",), message, advice)
    elif obj.pod_specs and not obj.kind:
        yield Problem(UNKNOWN_KIND, (), "an object needs apiVersion and kind")


def _in_group(obj: Object, context: Context, kinds: tuple[str, ...]) -> Iterator[Problem]:
    if obj.kind in REMOVED_KINDS:
        return
    if obj.kind in _POD_KINDS:
        message = f"{GROUP} has no kind {obj.kind}"
        yield Problem(UNKNOWN_KIND, ("apiVersion",), message, f"write {_POD_KINDS[obj.kind]}")
    elif obj.kind not in kinds:
        message = f"{GROUP} has no kind {obj.kind}" if obj.kind else f"{GROUP}: kind is missing"
        guess = closest(obj.kind, kinds)
        advice = f'did you mean "{guess}"?' if guess else f"it has: {', '.join(kinds)}"
        yield Problem(UNKNOWN_KIND, ("kind",), message, advice, at_key=False)
    elif not obj.in_group:
        newest = context.api.newest(GROUP, obj.kind)
        message = f"apiVersion {obj.api_version} lacks a version"
        yield Problem(UNKNOWN_KIND, ("apiVersion",), message, f"write {GROUP}/{newest}")


def _nearly(group: str) -> bool:
    """Tell whether a group can only be a slip of the pen; others may have kinds of these names."""
    return closest(group, [GROUP], edits=3) is not None


def _of_kubernetes(group: str) -> bool:
    return "." not in group or _GROUPS.fullmatch(group) is not None
