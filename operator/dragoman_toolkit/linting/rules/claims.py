"""Rules about claims, classes and taint rules beyond what the API server refuses.

Source of the tolerations: observed on kube-scheduler and the stock eviction controller v1.36.3; see
docs/check.md.
"""

from collections.abc import Iterator
from typing import Any

from dragoman_base.versions import Release
from dragoman_toolkit.linting.findings.finding import ERROR, WARNING, Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    mapping,
    reach,
    sequence,
    text,
)

TOLERATION = "dra/toleration"
ADMIN = "dra/admin-access"
TAINT = "dra/taint-rule"
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
PREVIEW = "None"
_OVERFLOW = 9_223_372_036
"""Seconds whose nanoseconds fit into 64 bits; the stock controller's arithmetic overflows above."""


def check_tolerations(obj: Object, context: Context) -> Iterator[Problem]:
    """Find tolerations that do nothing, or less than they seem to."""
    release = Release(context.api.version)
    for request in obj.requests:
        tolerations = [mapping(one) for one in sequence(request.body.get("tolerations"))]
        for index, toleration in enumerate(tolerations):
            yield from _toleration((*request.steps, "tolerations", index), toleration, release)
        if request.body.get("adminAccess") is True and not _survives(tolerations):
            message = (
                f"{render((*request.steps, 'adminAccess'))}: devices under a NoExecute taint evict"
                " this pod, and monitoring pods are wanted there most"
            )
            instead = "add a toleration: {operator: Exists}; or with the key and effect NoExecute"
            yield Problem(TOLERATION, (*request.steps, "adminAccess"), message, instead)


def _survives(tolerations: list[dict[str, Any]]) -> bool:
    return any(text(one.get("effect")) in ("", "NoExecute") for one in tolerations)


def _toleration(steps: Steps, toleration: dict[str, Any], release: Release) -> Iterator[Problem]:
    operator = text(toleration.get("operator")) or "Equal"
    effect, key = text(toleration.get("effect")), text(toleration.get("key"))
    seconds = toleration.get("tolerationSeconds")
    if not key and operator == "Equal":
        message = f"{render(steps)}: tolerates nothing: an empty key needs operator Exists"
        yield Problem(TOLERATION, steps, message, "add operator: Exists, or the key of the taint")
        return
    if operator == "Equal" and not text(toleration.get("value")):
        message = f"{render(steps)}: tolerates only taints of {key} without a value"
        instead = "write operator: Exists for any value, or the value"
        yield Problem(TOLERATION, (*steps, "key"), message, instead)
    if effect == "None":
        message = f"{render(steps)}: tolerates nothing: a taint with effect None has no effect"
        yield Problem(TOLERATION, (*steps, "effect"), message, "write NoSchedule or NoExecute")
        return
    if not effect and not release.empty_effects_tolerated:
        message = (
            f"{render(steps)}: without an effect the scheduler tolerates NoExecute and the stock"
            " eviction controller before 1.38 does not: the pod is placed and evicted again and"
            " again"
        )
        yield Problem(TOLERATION, steps, message, "write effect: NoExecute or NoSchedule")
    if isinstance(seconds, int) and not isinstance(seconds, bool):
        yield from _seconds(steps, effect, seconds)


def _seconds(steps: Steps, effect: str, seconds: int) -> Iterator[Problem]:
    place, shown = (*steps, "tolerationSeconds"), render((*steps, "tolerationSeconds"))
    if effect == "NoSchedule":
        message = f"{shown}: has no effect alongside effect NoSchedule, which never evicts"
        yield Problem(TOLERATION, place, message, "leave it out, or write effect: NoExecute")
    elif seconds <= 0:
        yield Problem(
            TOLERATION, place, f"{shown}: {seconds} evicts immediately", "write seconds above 0"
        )
    elif seconds > _OVERFLOW:
        message = (
            f"{shown}: {seconds} overflows in the built-in eviction controller, and evicts "
            "immediately"
        )
        yield Problem(TOLERATION, place, message, "omit it to tolerate the taint indefinitely")
    else:
        message = (
            f"{shown}: counts from the taint's timeAdded, not from the pod's start: on a device"
            f" tainted longer than {seconds} s ago the pod is placed and immediately evicted"
        )
        yield Problem(
            TOLERATION, place, message, "leave it out, or tolerate NoSchedule taints only"
        )


def check_admin_access(obj: Object, context: Context) -> Iterator[Problem]:
    """Find admin access in a namespace whose manifest lacks the label, or is not in the input.

    Source: pkg/apis/resource AuthorizedForAdmin; KEP-5018.
    """
    uses = [one for one in obj.requests if one.body.get("adminAccess") is True]
    if not uses:
        return
    namespace = context.find("Namespace", "", obj.namespace) if obj.namespace else None
    advice = f'label the namespace: {ADMIN_LABEL}: "true"'
    if namespace is None:
        told = context.reported.setdefault(ADMIN, set())
        if obj.namespace not in told:
            told.add(obj.namespace)
            steps = (*uses[0].steps, "adminAccess")
            where = f"namespace {obj.namespace}, which" if obj.namespace else "a namespace that"
            message = f'{render(steps)}: needs {where} has the label {ADMIN_LABEL}: "true"'
            yield Problem(ADMIN, steps, message, advice)
        return
    labels = mapping(namespace.metadata.get("labels"))
    if labels.get(ADMIN_LABEL) == "true":
        return
    for request in uses:
        steps = (*request.steps, "adminAccess")
        message = (
            f'{render(steps)}: namespace {obj.namespace} lacks the label {ADMIN_LABEL}: "true"'
        )
        yield Problem(ADMIN, steps, message, advice)


def check_taint_rule(obj: Object, _: Context) -> Iterator[Problem]:
    """Find rules that taint every device, or evict without having been tried."""
    if not obj.in_group or obj.kind != "DeviceTaintRule":
        return
    spec = mapping(obj.tree.get("spec"))
    effect = text(reach(spec, ("taint", "effect")))
    if "deviceSelector" in spec and spec["deviceSelector"] is not None:
        selector = mapping(spec["deviceSelector"])
        if not any(value is not None for value in selector.values()):
            steps = ("spec", "deviceSelector")
            message = "spec.deviceSelector: is empty and matches every device of the cluster"
            instead = "name a driver, pool or device; leave the field out to match none"
            yield Problem(TAINT, steps, message, instead, ERROR)
    else:
        message = "spec: a rule without deviceSelector matches no device"
        yield Problem(TAINT, ("spec",), message, "add deviceSelector", WARNING)
    if effect == "NoExecute":
        place = ("spec", "taint", "effect")
        message = (
            "spec.taint.effect: NoExecute immediately evicts the pods of every matching device"
        )
        instead = (
            f"apply it with effect: {PREVIEW} first; its status then says how many pods it hits"
        )
        yield Problem(TAINT, place, message, instead, WARNING)
