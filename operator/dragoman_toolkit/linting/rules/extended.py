"""`dra/extended-resource`: limits that a DeviceClass serves, as a claim does (KEP-5004)."""

from collections.abc import Iterator

from dragoman.allocation.features import on_by_default
from dragoman_base.words import counted
from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.findings.edits import Rename
from dragoman_toolkit.linting.findings.finding import ERROR, WARNING, Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.migprofiles import nearest_profile
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, text
from dragoman_toolkit.linting.manifests.placeholders import has_placeholder
from dragoman_toolkit.linting.selectors.scopes import KNOWN_CLASSES

EXTENDED = "dra/extended-resource"
PREFIX = "deviceclass.resource.kubernetes.io/"
_MIG = "nvidia.com/mig-"
_GATE = "DRAExtendedResource"
_SERVED = "served resources"


def check_extended(obj: Object, context: Context) -> Iterator[Problem]:
    """Find limits that name a class which is not there, or what no GPU has."""
    for pods in obj.pod_specs:
        for steps, container in pods.containers():
            limits = mapping(mapping(container.get("resources")).get("limits"))
            for name in limits:
                place = (*steps, "resources", "limits", name)
                if name.startswith(PREFIX):
                    yield from _class(place, name.removeprefix(PREFIX), context)
                elif name.startswith(_MIG):
                    yield from _profile(place, name.removeprefix(_MIG))
                if owner := class_serving(name, context):
                    context.reported.setdefault(_SERVED, {}).setdefault((name, owner), set()).add(
                        (obj.file, obj.title)
                    )


def class_serving(resource: str, context: Context) -> str:
    """Return the class of the input that serves an extended resource; empty without one."""
    if resource.startswith(PREFIX):
        return resource.removeprefix(PREFIX)
    if "classes by resource" not in context.memory:
        context.memory["classes by resource"] = {
            text(mapping(one.tree.get("spec")).get("extendedResourceName")): one.name
            for one in context.named
            if one.kind == "DeviceClass" and one.in_group
        }
    found: str = context.memory["classes by resource"].get(resource, "") if resource else ""
    return found


def notes(context: Context) -> Iterator[str]:
    """Say which classes serve the limits of the input, and what differs from a device plugin."""
    for (resource, owner), objects in sorted(context.reported.get(_SERVED, {}).items()):
        yield (
            f"{resource} in {counted(len(objects), 'object')}: DeviceClass {owner} serves it: the"
            " scheduler makes a claim for each pod, with the selectors and configs of the class;"
            " nodes whose device plugin offers it serve it as before"
        )


def _class(steps: Steps, name: str, context: Context) -> Iterator[Problem]:
    gate = context.gates.get(_GATE, on_by_default(_GATE, context.api.version))
    if not gate:
        message = (
            f"{render(steps)}: needs the feature gate {_GATE}, which is off by default in"
            f" Kubernetes {context.kubernetes}: the pod stays pending"
        )
        yield Problem(EXTENDED, steps, message, "write a claim")
        return
    if context.device_class(name) is not None or name in KNOWN_CLASSES or has_placeholder(name):
        return
    known = {*context.names.get("DeviceClass", set()), *KNOWN_CLASSES}
    guess = closest(name, known, edits=2)
    if guess is None and not context.complete:
        return
    message = f'{render(steps)}: no DeviceClass "{name}" in the input'
    edits = (Rename(steps, f"{PREFIX}{guess}"),) if guess else ()
    advice = f'did you mean "{PREFIX}{guess}"?' if guess else ""
    severity = ERROR if context.complete else WARNING
    yield Problem(EXTENDED, steps, message, advice, severity, edits, safe=False)


def _profile(steps: Steps, profile: str) -> Iterator[Problem]:
    plain = profile.removesuffix(".shared")
    guess = nearest_profile(plain)
    if guess is None or has_placeholder(profile):
        return
    message = f'{render(steps)}: no known GPU has the MIG profile "{plain}"'
    edits = (Rename(steps, f"{_MIG}{guess}"),) if guess else ()
    advice = f'did you mean "{_MIG}{guess}"?' if guess else ""
    yield Problem(EXTENDED, steps, message, advice, edits=edits, safe=False)
