"""What `explain` says about pods, claims and templates."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from dragoman.allocation import Allocated, Cluster, DeviceID, Reason
from dragoman.diagnosis import subject as subjects
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.groups import groups as grouped
from dragoman.diagnosis.nearness import NodeAnswer, has_matching
from dragoman.diagnosis.obstacles import MISSING, ObstacleCode
from dragoman.diagnosis.subject import Subject
from dragoman.diagnosis.wording import node_lacks, words
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.inventory.ages import UNKNOWN
from dragoman.inventory.facts.world import World
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.inventory.usage.waiting import extended_resources
from dragoman.model.claim import Claim
from dragoman.model.metadata import Metadata
from dragoman.model.pod import TERMINAL_PHASES
from dragoman_base.words import listed
from dragoman_base.words.nearnames import nearest
from dragoman_toolkit.diagnosis import started
from dragoman_toolkit.diagnosis.containers import misuses
from dragoman_toolkit.diagnosis.suggestions.suggest import confirmed, suggest
from dragoman_toolkit.dra.diagnosis import text
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView, report
from dragoman_toolkit.dra.inventory import who_table
from dragoman_toolkit.dra.kinds import WORKLOADS
from dragoman_toolkit.dra.missing import elsewhere, missing
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table, Unusable
from dragoman_toolkit.dra.preemption.reading import explained_plan, sentence
from dragoman_toolkit.queues.reasons import HELD, is_held, told, without_holds

Kubelet = Callable[[Metadata], str]
USERS = 10
"""Pods that wait for an allocated claim and are looked at."""


def pod(
    view: DiagnosisView,
    key: str,
    *,
    planned: bool = False,
    kubelet: Kubelet = lambda _: "",
    absent: str = "",
) -> Report:
    """Explain a pod; raise Unusable where there is none.

    Args:
        view: What the command looks at.
        key: `namespace/name`.
        planned: Whether the pod is not applied yet.
        kubelet: Returns the kubelet's last warning about a pod.
        absent: What else may be the case where there is none.
    """
    world = view.inventory.world
    found = world.pods.get(key)
    if found is None:
        raise _not_found(view, "pod", key, absent)
    if found.pod.phase in TERMINAL_PHASES:
        ended = f"Pod {key} has ended ({found.pod.phase}): it needs no devices any more."
        return report(view, Explanation(Subject(found), Answer.FITS), (ended,))
    subject = subjects.of_pod(world, found, planned=planned)
    if view.held is not None and is_held(found) and not planned:
        if any(one.code is ObstacleCode.CLAIM_NOT_CREATED for one in subject.obstacles):
            # What its claims will ask for is in their templates.
            subject = subjects.of_pod(world, found, planned=True)
        known = told(subject.obstacles, [*view.held.of_pod(found)])
        subject = replace(subject, obstacles=known)
    silent = not subject.wanted and not subject.allocated and not subject.obstacles
    if silent and found.pod.entries and "resourceclaims" not in world.listed:
        unread = f"Pod {key}: its claims are unknown, because you cannot list resourceclaims."
        return report(view, Explanation(subject, Answer.UNKNOWN), (unread,))
    if silent and not extended_resources(found.document):
        return report(view, Explanation(subject, Answer.FITS), (f"Pod {key} uses no claims.",))
    if found.pod.node_name and not subject.stopped:
        return allocated(view, subject, kubelet)
    if any(one.code in HELD for one in subject.obstacles):
        return _held(view, subject, f"Pod {key}")
    return _searched(view, subject, f"Pod {key}", planned=planned)


def _held(view: DiagnosisView, subject: Subject, title: str) -> Report:
    """Say who holds a pod back, and whether it has devices when it is let through."""
    free = replace(subject, obstacles=without_holds(subject.obstacles))
    later = _searched(view, free, title, planned=True)
    holds = [one for one in subject.obstacles if one.code in HELD]
    fits = later.document["answer"] in (Answer.FITS, Answer.ALLOCATED)
    how = "fits" if fits else "still does not fit"
    first, *rest = later.blocks or ("",)
    said = first.text if isinstance(first, Cell) else str(first)
    uses = said if subject.wanted or subject.allocated or not fits else "it needs no devices."
    blocks = (
        f"{title} is held back, and no scheduler looks at it:",
        *(one.text for one in holds),
        "",
        f"When it is let through it {how}: {uses}",
        *rest,
    )
    document = {
        **later.document,
        "answer": str(Answer.STOPPED),
        "whenLetThrough": later.document["answer"],
        "obstacles": [
            {"code": str(one.code), "message": one.message, "remedy": one.remedy}
            for one in subject.obstacles
        ],
        "schedulerMessage": None,
    }
    status = Exit.UNKNOWN if later.status is Exit.UNKNOWN else Exit.OBSTACLE
    later = replace(later, document=document, blocks=blocks, status=status)
    return _with_autoscalers(view, Explanation(subject, Answer.STOPPED), later)


def _with_autoscalers(view: DiagnosisView, explanation: Explanation, found: Report) -> Report:
    """Say at the end why no autoscaler adds a node, as far as it is known."""
    if view.autoscaling is None or view.node:
        return found
    held = explanation.answer is Answer.STOPPED
    lines = view.autoscaling.paragraph(view.inventory, explanation, held=held)
    document = {**found.document, "autoscaler": list(lines)}
    blocks = (*found.blocks, *(("", *lines) if lines else ()))
    return replace(found, document=document, blocks=blocks)


def claim(view: DiagnosisView, key: str) -> Report:
    """Explain a claim; raise Unusable where there is none."""
    found = view.inventory.world.claims.get(key)
    if found is None:
        raise _not_found(view, "resourceclaim", key)
    subject = subjects.of_claim(view.inventory.world, found)
    if found.held is None:
        return _searched(view, subject, f"Claim {key}", planned=False)
    explanation = Explanation(subject, Answer.ALLOCATED)
    where = found.held.node_selector
    said = [f"Claim {key} is allocated{'' if where else ', for every node'}."]
    said += (
        f"The scheduler deallocates it: no other pod has reserved it, and pod {one} cannot use "
        "its devices."
        for one in islice(_losing(view, found), 1)
    )
    if not found.devices:
        return report(view, explanation, (*said, "It holds no device."))
    who = who_table.answer(view.inventory, f"claim/{key}", "", wide=False)
    return report(view, explanation, (*said, "", *who.blocks))


def _losing(view: DiagnosisView, claim: Claim) -> Iterator[str]:
    """Yield pods that wait with an allocated claim, and for which the scheduler deallocates it."""
    namespace, name = claim.namespace, claim.name
    users = (
        one
        for one in view.inventory.world.pods.values()
        if one.pod.metadata.namespace == namespace
        and not (one.pod.node_name or one.pod.done)
        and any(one.pod.published_name(entry) == name for entry in one.pod.entries)
    )
    for one in islice(users, USERS):
        subject = subjects.of_pod(view.inventory.world, one)
        if name in view.explain(subject).deallocated:
            yield one.key


def template(view: DiagnosisView, key: str) -> Report:
    """Explain a template; raise Unusable where there is none."""
    found = view.inventory.world.templates.get(key)
    if found is None:
        raise _not_found(view, "resourceclaimtemplate", key)
    subject = subjects.of_claim(view.inventory.world, found, template=found.name)
    return _searched(view, subject, f"A claim from template {key}", planned=True)


def _not_found(view: DiagnosisView, kind: str, key: str, more: str = "") -> Unusable:
    world = view.inventory.world
    plural = f"{kind}s"
    for one in world.malformed:
        if (one.plural, one.name) == (plural, key):
            return Unusable(f"{kind} {key} is malformed: {one.problem}")
    known = {"pod": world.pods, "resourceclaim": world.claims}.get(kind, world.templates)
    namespace, _, name = key.partition("/")
    words = {"pod": "pod", "resourceclaim": "claim"}.get(kind, "template")
    hint = elsewhere(key, known, f"kubectl dra explain {words} {name}")
    if kind == "pod" and not hint:
        hint = _kind_meant(world, namespace)
    return missing(world, f"{kind} {key} not found{more}{hint}", plural)


def _kind_meant(world: World, word: str) -> str:
    """Say which kind a word may stand for that is the namespace of nothing; empty for none."""
    spaces = {one.pod.metadata.namespace for one in world.pods.values()}
    spaces.update(key.partition("/")[0] for key in (*world.claims, *world.templates))
    if word in {*spaces, "default"}:
        return ""
    near = nearest(word, [*WORKLOADS, "pod"])
    if near:
        return f"; did you mean {near}/…?"
    return f"; where {word} is to be a kind, there are: pod, {', '.join(WORKLOADS)}"


def _searched(view: DiagnosisView, subject: Subject, title: str, *, planned: bool) -> Report:
    explanation = view.explain(subject)
    suggestions = suggest(view.inventory, explanation, view.cluster)
    known = confirmed(explanation, suggestions)
    groups = grouped(view.inventory, explanation.nodes, known)
    unseen = [one for one in subject.obstacles if one.code is ObstacleCode.NO_SCHEDULER]
    blocks: list[Table | str | Cell] = [f"{one.text[0].upper()}{one.text[1:]}" for one in unseen]
    blocks.append(text.headline(view.inventory, explanation, title, planned=planned, known=known))
    misused = () if view.node else tuple(misuses(subject))
    explanation = replace(
        explanation,
        subject=replace(explanation.subject, obstacles=(*explanation.subject.obstacles, *misused)),
    )
    blocks += [one.text for one in (*subject.obstacles, *misused) if one not in unseen]
    blocks += text.hint_lines(explanation)
    blocks += text.deallocating(explanation)
    blocks += text.pinned(view.inventory, explanation)
    if explanation.fatals:
        blocks += [*text.fatal(view.inventory, explanation)]
    blocks += text.awaited(explanation)
    for wanted in explanation.subject.wanted:
        blocks += ["", *text.claim_lines(wanted)]
    if view.devices:
        blocks += ["", _device_table(view.cluster, explanation)]
    else:
        table = text.groups(groups)
        missing = any(one.stops and one.code in MISSING for one in subject.obstacles)
        if table.rows and not missing:
            blocks += ["", table]
    advice = list(text.advice(explanation, suggestions, known))
    if advice:
        blocks += ["", *advice]
    waits = explanation.answer is Answer.DOES_NOT_FIT and not planned and not view.node
    preemption = explained_plan(view.inventory.world, subject, view.cluster) if waits else None
    if preemption:
        blocks += ["", sentence(preemption)]
    message = text.message(view.inventory, subject.pod)
    if message:
        blocks += ["", message]
    found = report(view, explanation, tuple(blocks), suggestions=suggestions, groups=groups)
    unmet = explanation.answer in (Answer.DOES_NOT_FIT, Answer.NEVER_FITS) and not planned
    return _with_autoscalers(view, explanation, found) if unmet else found


def allocated(view: DiagnosisView, subject: Subject, kubelet: Kubelet) -> Report:
    """Say which devices a pod has, and what the kubelet waits for.

    Args:
        view: What the command looks at.
        subject: The pod.
        kubelet: Returns the kubelet's last warning about a pod.
    """
    found = subject.pod
    snapshot = view.snapshot or Snapshot(taken=view.inventory.world.now)
    facts = DoctorFacts(snapshot, view.inventory)
    waits = found.pod.phase == "Pending"
    warning = kubelet(found.pod.metadata) if waits else ""
    hindered = tuple(started.obstacles(facts, subject, warning))
    subject = replace(subject, obstacles=(*subject.obstacles, *hindered, *misuses(subject)))
    but = ", but does not run:" if hindered else "."
    blocks: list[Table | str | Cell] = [
        f"Pod {found.key} has its devices on node {found.pod.node_name}{but}"
    ]
    blocks += [one.text for one in subject.obstacles]
    if waits and not hindered:
        blocks.append("The kubelet has not started it yet.")
    who = who_table.of_pod(view.inventory, found, _claims(subject))
    blocks += ["", *who.blocks] if who else []
    status = Exit.OBSTACLE if hindered else Exit.CLEAR
    return report(view, Explanation(subject, Answer.ALLOCATED), tuple(blocks), status)


def _claims(subject: Subject) -> set[str]:
    """Return the claims of a pod, with the one for its extended resources."""
    pod = subject.pod.pod
    keys = {one.key for one in subject.allocated}
    return keys | {f"{pod.metadata.namespace}/{pod.extended_claim}"} if pod.extended_claim else keys


TAKEN = "the scheduler takes it"
FREE = "nothing keeps the request away"
_FILTERED = "NodeFiltered"
LONGEST = 200
"""Letters of a reason in the line of a device; the document has all of it."""
LETTERS, NAMES = 90, 3
"""Letters of an expression, and names of a list, in such a line."""


def _device_table(cluster: Cluster, explanation: Explanation) -> Table:
    """Return what stands in the way of each device.

    Args:
        cluster: That of the explanation.
        explanation: The answer.
    """
    rows = tuple(row for node in explanation.nodes for row in _rows(cluster, node))
    spare = []
    if all(row[0] in row[2].split("/") for row in rows):
        spare.append("NODE")
    if len({row[1] for row in rows}) == 1:
        spare.append("REQUEST")
    # WHY says in words what CODE says.
    return Table(("NODE", "REQUEST", "DEVICE", "CODE", "WHY"), rows, tuple(spare), ("CODE",))


def _rows(cluster: Cluster, node: NodeAnswer) -> Iterator[tuple[str, ...]]:
    if node.filtered:
        yield node.node, UNKNOWN, UNKNOWN, _FILTERED, "; ".join(node_lacks(node.lacks))
        if not has_matching(node):
            return
    for reason in node.others:
        what = reason.device or reason.pool or UNKNOWN
        yield node.node, reason.request or UNKNOWN, str(what), str(reason.code), _bounded(reason)
    if isinstance(node.outcome, Allocated) and not node.filtered:
        for made in node.outcome.new:
            for one in made.devices:
                device = DeviceID(one.driver, one.pool, one.device)
                yield node.node, one.request, str(device), UNKNOWN, TAKEN
    for request in node.requests:
        kept_away = {reason.device: reason for reason in request.reasons}
        for device in _devices(cluster, node.node):
            found = kept_away.get(device)
            code, why = (UNKNOWN, FREE) if found is None else (str(found.code), _bounded(found))
            yield node.node, request.name, str(device), code, why


def _bounded(reason: Reason) -> str:
    """Return a reason in one line of bounded length, whatever users and drivers have written."""
    details = {
        name: value if name == "message" else _short(value)
        for name, value in reason.details.items()
    }
    text = " ".join(words(reason._replace(details=details)).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _short(value: object) -> object:
    """Return a detail with its first letters, or its first names."""
    if isinstance(value, tuple | list) and len(value) > NAMES:
        return listed(map(str, value), NAMES)
    if isinstance(value, Mapping) and len(value) > NAMES:
        return listed((f"{name}={one}" for name, one in value.items()), NAMES)
    if isinstance(value, str) and len(value) > LETTERS:
        return f"{value[: LETTERS - 1]}…"
    return value


def _devices(cluster: Cluster, node: str) -> Iterator[DeviceID]:
    """Yield the devices of a node in the order of the allocator."""
    for pool in cluster.node_pools(node).pools:
        yield from pool.ids
