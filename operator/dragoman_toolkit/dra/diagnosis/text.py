"""What `explain` says about a pod that waits, line by line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dragoman.allocation import Code, Reason
from dragoman.diagnosis import wording
from dragoman.diagnosis.answers import Answer, Explanation, times_out
from dragoman.diagnosis.explain import unreadable
from dragoman.diagnosis.filters import AFFINITY
from dragoman.diagnosis.groups import Group
from dragoman.diagnosis.nearness import FAR, Distance, NodeAnswer, nearest, of_fewest_changes
from dragoman.diagnosis.nodeanswers import exact_requests
from dragoman.diagnosis.note import hint_texts, never_texts
from dragoman.diagnosis.obstacles import ObstacleCode
from dragoman.diagnosis.subject import Wanted
from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import Inventory
from dragoman.model.fields import parts
from dragoman.model.requests import ExactRequest
from dragoman_toolkit.diagnosis.suggestions.guards import Guard, guard
from dragoman_toolkit.diagnosis.suggestions.holders import departing
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    ChangeKind,
    Suggestion,
    toleration_text,
)
from dragoman_toolkit.dra.output import Table

DEFAULT_SCHEDULER = "default-scheduler"
SCHEDULER = "kube-scheduler"
"""Field manager of the scheduler."""
CAUSES = 3
"""Causes beside devices that the first sentence names."""
SHOWN, NEAREST = 2, 8
"""Nodes that a line names: of most, and of the nearest."""
SUGGESTIONS = 3
"""Suggestions of one kind that are printed."""


def headline(
    inventory: Inventory,
    explanation: Explanation,
    title: str,
    *,
    planned: bool,
    known: Mapping[str, Distance],
) -> str:
    """Return the answer in one sentence.

    Args:
        inventory: What is known.
        explanation: The answer.
        title: Names what is explained.
        planned: Whether it is not applied yet.
        known: How near nodes are, where searches have found it out.
    """
    subject, world = explanation.subject, inventory.world
    since = ""
    found = subject.pod.unschedulable
    if found and not planned:
        since = f" for {age(world.now, str(found.get('lastTransitionTime') or ''))}"
    if subject.pod.pod.node_name:
        return f"No scheduler looks at {title[0].lower()}{title[1:]}:"
    if explanation.answer is Answer.STOPPED:
        return _stopped(explanation, title, since)
    if explanation.answer is Answer.FITS:
        return _fits(explanation, title, since, planned=planned)
    if explanation.answer is Answer.UNKNOWN:
        return _unknown(world, explanation, title)
    if explanation.answer is Answer.NEVER_FITS:
        return f"{title} can never fit: {_ended('; '.join(never_texts(explanation)))}"
    return _nowhere(explanation, title, "" if planned else since, known)


def _nowhere(
    explanation: Explanation, title: str, since: str, known: Mapping[str, Distance]
) -> str:
    """Name what the nearest nodes lack: devices, something else, or both."""
    total = len(explanation.nodes)
    unserved = [
        one.written
        for one in explanation.subject.obstacles
        if one.code is ObstacleCode.RESOURCE_NOT_SERVED
    ]
    if unserved:
        named = wording.listed(unserved)
        waits = f"has been waiting{since} for" if since else "fits nowhere: it wants"
        return f"{title} {waits} {named}, which no DeviceClass and no node serves."
    nowhere = f"fits on none of the {total} nodes"
    if total == 1:
        nowhere = f"does not fit on {explanation.nodes[0].node}"
    near = of_fewest_changes(explanation.nodes, known)
    having = [one for one in near if one.has_devices]
    there = _having(having)
    if near and len(having) == len(near):
        waits = f"has been waiting{since}" if since else nowhere
        return f"{title} {waits}; devices are not the cause: {_ended(there)}"
    if there:
        nowhere = f"{nowhere}; {there}"
    if not since:
        return f"{title} {nowhere}."
    without = [one for one in near if not one.has_devices]
    others = [*dict.fromkeys(one.what for node in without for one in node.lacks if one.wanted)]
    others += ["a node that it may run on"] if any(map(_kept_off, without)) else []
    wanted = wording.listed(["devices", *others])
    if not near and explanation.subject.allocated and not explanation.subject.wanted:
        wanted = "a node where its claims can be used"
    return f"{title} has been waiting for {wanted}{since}: it {nowhere}."


def _having(nodes: Iterable[NodeAnswer]) -> str:
    """Say of nodes that have the devices what else they lack."""
    by_lacks: dict[tuple[str, ...], list[str]] = {}
    for one in nodes:
        by_lacks.setdefault(tuple(wording.node_lacks(one.lacks)), []).append(one.node)
    there = [
        f"{wording.listed(names)} {wording.have(len(names))} the devices, {', '.join(lacking)}"
        for lacking, names in by_lacks.items()
    ]
    rest = len(there) - CAUSES
    more = [f"{rest} more causes on others"] if rest > 0 else []
    return "; ".join((*there[:CAUSES], *more))


def _kept_off(node: NodeAnswer) -> bool:
    return any(not one.wanted for one in node.lacks)


def pinned(inventory: Inventory, explanation: Explanation) -> Iterator[str]:
    """Yield the allocated claims that tie a pod to nodes where it cannot run, and who has them."""
    world, subject = inventory.world, explanation.subject
    if not explanation.waits:
        return
    for claim in subject.allocated:
        held = claim.held
        if held is None or held.node_selector is None or claim.name in explanation.deallocated:
            continue
        there = [one for one in explanation.nodes if claim.name not in one.pinned]
        if any(not one.lacks for one in there):
            continue
        names = wording.shortened(one.node for one in there) or "nodes that are gone"
        lacking = [one for node in there for one in node.lacks]
        why = "; ".join(wording.node_lacks(lacking))
        remedy = " Make them agree, or use a template."
        yield (
            f"Claim {claim.name} is allocated on {names}, where the pod cannot run"
            f"{': ' if why else ''}{why}."
            f"{remedy if any(one.message == AFFINITY for one in lacking) else ''}"
        )
        for user in claim.consumers:
            pod = world.pods.get(f"{claim.namespace}/{user.name}")
            if pod is not None and pod.key != subject.pod.key and pod.pod.metadata.deleting:
                yield f"It is reserved for another pod: {departing(inventory, pod)}"


def _stopped(explanation: Explanation, title: str, since: str) -> str:
    """Say what stops a pod before any node is looked at, or that the lines below say it."""
    code = next((one.code for one in explanation.subject.obstacles if one.stops), None)
    if code is ObstacleCode.SCHEDULING_GATED:
        return f"{title} {_waits(since)}: scheduling gates keep every scheduler from it:"
    if code is ObstacleCode.QUOTA_EXCEEDED:
        return f"{title} {_waits(since)} for a claim that cannot be created:"
    return f"The scheduler stops at {title[0].lower()}{title[1:]}, whatever the nodes are:"


def _fits(explanation: Explanation, title: str, since: str, *, planned: bool) -> str:
    """Say where a pod fits, and who has not placed it."""
    total, fitting, subject = len(explanation.nodes), explanation.fitting, explanation.subject
    names = wording.shortened(fitting)
    scheduler = subject.pod.scheduler
    waits = bool(subject.pod.pod.metadata.uid) and not planned
    if waits and scheduler != DEFAULT_SCHEDULER:
        return (
            f"{title} {_waits(since)}, but a legal allocation exists on {names}: "
            f"its scheduler {scheduler} has not made it."
        )
    if planned or not since:
        return f"{title} fits on {len(fitting)} of {total} nodes: {names}."
    fits = f"now fits on {len(fitting)} of {total} nodes: {names}"
    return f"{title} {_waits(since)}, but {fits}."


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def hint_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the slips that the first sentence does not name, and what cannot be known yet."""
    yield from (f"{one[0].upper()}{one[1:]}" for one in hint_texts(explanation))
    if explanation.undecided:
        pools = wording.shortened(explanation.undecided)
        yield f"Whether it can ever fit is unknown until pool {pools} is complete."


def _waits(since: str) -> str:
    """Say that a pod waits, and how long where that is known."""
    return f"has been waiting{since}" if since else "waits"


def _unknown(world: World, explanation: Explanation, title: str) -> str:
    missing, total = unreadable(world), len(explanation.nodes)
    if missing:
        return f"{title}: where it fits is unknown, because you cannot list {', '.join(missing)}."
    if explanation.expensive:
        return (
            f"{title} is too expensive to explain: its selectors, or the search for its devices, "
            f"took all the time after {total} of {len(world.nodes)} nodes. --timeout gives more, "
            "--node looks at one node only."
        )
    return f"{title}: the search is too large to say on which of {total} nodes it fits."


def deallocating(explanation: Explanation) -> Iterator[str]:
    """Yield which claims lose their devices before the pod gets them, or others."""
    for name in explanation.deallocated:
        yield (
            f"The scheduler deallocates claim {name} first: no other pod has reserved it, and its "
            "devices are of no use on the nodes of the pod."
        )


def awaited(explanation: Explanation) -> Iterator[str]:
    """Yield what a pod that has a place waits for."""
    unready = [one for node in explanation.nodes if node.fits for one in node.unready]
    for text in dict.fromkeys(map(wording.unready_text, unready)):
        yield f"{text}: the scheduler waits for its driver before it binds the pod."


def fatal(inventory: Inventory, explanation: Explanation) -> Iterator[str]:
    """Yield the errors that stop the scheduler at the pod, and the guarded selector."""
    yield from explanation.fatals[:SUGGESTIONS]
    found = next(_guards(inventory, explanation), None)
    if found is not None:
        listed = wording.shortened(found.without)
        yield (
            f"  {found.have} of {found.devices} devices have attribute {found.attribute}; "
            f"not {listed}"
        )
        if found.guarded:
            yield f"  write: {found.guarded}"


def _guards(inventory: Inventory, explanation: Explanation) -> Iterator[Guard]:
    for node in explanation.nodes:
        for reason in reasons_of(node.requests):
            found = guard(inventory, reason) if reason.code is Code.CEL_ERROR else None
            if found is not None:
                yield found


def reasons_of(requests: Iterable[Any]) -> Iterator[Reason]:
    """Yield the reasons of all requests of a node."""
    for request in requests:
        yield from request.reasons


def claim_lines(wanted: Wanted) -> Iterator[str]:
    """Yield a claim, its requests and constraints."""
    source = f" (from template {wanted.template})" if wanted.template else ""
    yield f"claim {wanted.claim.name}{source}"
    for name, request, alternative in exact_requests(wanted.claim):
        yield f"  {'or ' if alternative else ''}request {name}: {request_text(request)}"
    for constraint in wanted.claim.spec.constraints:
        of = f" of requests {', '.join(constraint.requests)}" if constraint.requests else ""
        if constraint.match_attribute:
            yield f"  all devices{of} have the same {constraint.match_attribute}"
        else:
            yield f"  all devices{of} differ in {constraint.distinct_attribute}"


def request_text(request: ExactRequest) -> str:
    """Write what a request is for: `2 x gpu.nvidia.com where …`."""
    many = "all" if request.mode == "All" else str(request.count)
    parts = [f"{many} x {request.class_name}"]
    if request.selectors:
        parts.append("where " + " and ".join(one or "(no expression)" for one in request.selectors))
    if request.capacity:
        listed = ", ".join(f"{name} {value}" for name, value in request.capacity.items())
        parts.append(f"with {listed}")
    if request.tolerations:
        listed = ", ".join(one.key or "every taint" for one in request.tolerations)
        parts.append(f"tolerating {listed}")
    if request.admin_access:
        parts.append("with admin access")
    return " ".join(parts)


def groups(found: Sequence[Group]) -> Table:
    """Return the nodes by what stands in the way on them."""
    least = found[0].distance.changes if found and found[0].distance < FAR else None
    rows = [
        (
            _nodes(group.nodes, NEAREST if group.distance.changes == least else SHOWN),
            group.why,
            str(group.devices) if group.devices else "-",
        )
        for group in found
    ]
    return Table(("NODES", "WHY", "DEVICES"), tuple(rows))


def _nodes(names: tuple[str, ...], most: int) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, {len(names) - most} more"


def advice(
    explanation: Explanation,
    suggestions: tuple[Suggestion, ...],
    known: Mapping[str, Distance],
) -> Iterator[str]:
    """Yield the nearest node and the changes that let the pod run, one in each line.

    Args:
        explanation: The answer.
        suggestions: The changes.
        known: How near nodes are, where searches have found it out.
    """
    if not (explanation.waits or explanation.answer is Answer.STOPPED):
        return
    said = []
    for kind in ChangeKind:
        # A correction that helps once devices are free is a hint above the table.
        of_kind = [one for one in suggestions if one.kind is kind and one.node]
        texts = merged_tolerations(of_kind) if kind is ChangeKind.ADD_TOLERATION else of_kind
        said += [f"* {one.text}" for one in texts[:SUGGESTIONS]]
    several = any(one.kind is ChangeKind.SEVERAL_CHANGES for one in suggestions)
    near = nearest(explanation.nodes, known)
    first = _needed(near) if several else _nearest(near)
    fits = [] if several or not said else ["It fits:"]
    if first or fits:
        yield " ".join([*filter(None, [first]), *fits])
    yield from said
    if times_out(explanation):
        yield "The scheduler may run into its time-out of 10 s for this pod."


def merged_tolerations(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Put tolerations of one key on one node into one line, with all effects of the taint."""
    merged: dict[tuple[str, str], list[Suggestion]] = {}
    for one in found:
        merged.setdefault((str(one.details.get("key")), one.node), []).append(one)
    lines = []
    for (key, node), of_key in merged.items():
        effects = sorted({effect for one in of_key for effect in one.details["effects"]})
        text = toleration_text(key, effects)
        lines.append(replace(of_key[0], text=f"{text} ({node}: degraded devices)"))
    return lines


def _nearest(near: Sequence[NodeAnswer]) -> str:
    """Name the nearest node where it has some of the devices, but too few."""
    if len(near) != 1 or near[0].lacks or not near[0].short:
        return ""
    if not any(one.free for one in near[0].requests):
        return ""
    return f"Nearest: {near[0].node}, {_many(near[0].short)} short."


def _needed(near: Sequence[NodeAnswer]) -> str:
    """Say how many devices have to come free, where nothing else is lacking."""
    short = {one.short for one in near}
    held = all(
        "holders" in reason.details and not reason.details.get("taints")
        for node in near
        for request in node.requests
        for reason in request.matching
    )
    if len(short) != 1 or not held or any(one.lacks or not one.short for one in near):
        return "No single change is enough:"
    many = short.pop()
    more = "1 more free device" if many == 1 else f"{many} more free devices"
    return f"It needs {more} on one node:"


def _many(devices: int) -> str:
    return "one device" if devices == 1 else f"{devices} devices"


def message(inventory: Inventory, found: PodFact) -> str:
    """Return what the scheduler said last; empty where it said nothing."""
    condition = found.unschedulable
    said = str(condition.get("message") or "")
    if not said:
        return ""
    return f"Scheduler: {said} ({age(inventory.world.now, _reported(found))} ago)"


def _reported(found: PodFact) -> str:
    """Return when the scheduler wrote its message; the transition to False may be long ago."""
    times = (
        str(one.get("time") or "")
        for one in parts(found.document, "metadata", "managedFields")
        if one.get("manager") == SCHEDULER and one.get("subresource") == "status"
    )
    return max(times, default=str(found.unschedulable.get("lastTransitionTime") or ""))
