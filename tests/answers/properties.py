"""The seven properties of an answer, each held against the document and the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.allocation import profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman_toolkit.dra.diagnosis.pods import pod
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.output import lines
from dragoman_toolkit.dra.tables import Screen
from tests.answers.evaluator import FAR, Change, Evaluator, selects, with_models
from tests.answers.worlds import MODELS, Device, World, make, manifests
from tests.support.worlds.inventory import snapshot

Json = dict[str, Any]
UNSELECTED = frozenset({"SelectorRejected", "NodeMismatch", "CELError"})
BROKEN = re.compile(
    r"(?:\b(?:of|by|in|on|for|with|not|and|or|to|from|is)|[;,])\s*$"
    r"|\(\s*\)|\[\s*\]|\b0 more\b|\bNone\b"
)
_BY = re.compile(r"(\d+) by ([\w.-]+/[\w.-]+)")
_POOL = re.compile(r"\b([a-z]+\.[a-z]+\.test)/(node-\d+)(?![\w/])")
MISSING = ("class", "template", "namespace")


@dataclass
class Answer:
    """What `explain` says of the pod of a world."""

    world: World
    document: Json
    text: str  # Of the table of nodes
    devices: str  # Of `--devices`

    @property
    def first(self) -> str:
        one, *rest = self.text.splitlines()
        # A sentence that ends with a colon goes on in the next line.
        return f"{one} {rest[0]}" if one.endswith(":") and rest else one


def answer(world: World) -> Answer:
    """Explain the pod of a world."""
    inventory = take(parse(snapshot(*manifests(world))), profile("1.36"))
    view = DiagnosisView(inventory, devices=True)
    shown = pod(DiagnosisView(inventory), "ml/wants")
    full = pod(view, "ml/wants")
    text, devices = ("\n".join(lines(one, Screen())) for one in (shown, full))
    return Answer(world, dict(full.document), text, devices)


def faults(seed: int) -> Iterator[str]:
    """Yield what is wrong with the answer of a seed, each beginning with the property's number."""
    world = make(seed)
    found = answer(world)
    right = Evaluator(world)
    for number, check in enumerate(
        (only_matching, nearest_named, never, slips, suggestions, first_sentence, form), 1
    ):
        for fault in check(found, right):
            yield f"{number}: {fault}"


def _searched(said: Answer) -> bool:
    return said.world.slip not in MISSING and not said.world.gate


def only_matching(said: Answer, right: Evaluator) -> Iterator[str]:
    """1. What is named for a request matches its class and selectors."""
    if said.world.slip:
        return
    devices = {f"{one.driver}/{one.node}/{one.name}": one for one in said.world.devices()}
    requests = {one.name: one for one in said.world.requests}
    for node in said.document["nodes"]:
        for reason in node["reasons"]:
            device = devices.get(reason.get("device", ""))
            if device is None or reason["code"] in UNSELECTED:
                continue
            if not selects(requests[reason["request"]], device):
                yield f"{reason['code']} of {reason['device']} for request {reason['request']}"
    yield from _holders(said, right)
    for line in said.text.splitlines():
        for driver, node in _POOL.findall(line):
            if "pool" in line and driver not in {one.driver for one in said.world.requests}:
                yield f"pool {driver}/{node}"


def _holders(said: Answer, right: Evaluator) -> Iterator[str]:
    """Yield holders of other devices, and numbers that count other devices."""
    by_name = {one.name: one for one in said.world.holders}
    for line in said.text.splitlines():
        for count, name in _BY.findall(line):
            matching = [one for one in by_name[name].devices if right.matches(one)]
            if int(count) > len(matching):
                yield f"{count} by {name}, which has {len(matching)} such devices"
    for one in said.document["suggestions"]:
        for name in _ends(one):
            holder = by_name[name]
            short = holder.cpu and not all(
                right.runs(node) for node in said.world.nodes if node.name == holder.node
            )
            counters = any(one.takes for one in holder.devices)
            if not short and not counters and not any(map(right.matches, holder.devices)):
                yield f"suggests the end of {name}"


def _ends(suggestion: Json) -> list[str]:
    parts = suggestion.get("changes") or [suggestion]
    return [name for one in parts for name in one.get("holders", ()) if "/" in name]


def nearest_named(said: Answer, right: Evaluator) -> Iterator[str]:
    """2. The nodes of least distance are named first, each with a reason of a matching device."""
    if not _searched(said) or said.world.slip or said.document["answer"] != "DoesNotFit":
        return
    many, nodes = right.nearest()
    if many in (0, FAR):
        return
    names = {one.name for one in nodes}
    by_name = {one["name"]: one for one in said.document["nodes"]}
    first: set[str] = set()
    for group in said.document["groups"]:
        if first >= names or not set(group["nodes"]) & names:
            break
        first |= {*group["nodes"]}
    if not names <= first:
        yield f"nearest are {sorted(names)} ({many} changes), first {sorted(first)}"
    elif first - names:
        yield f"beside the nearest {sorted(names)}: {sorted(first - names)}"
    for name in sorted(names):
        if name not in said.text:
            yield f"{name} is not named"
        node = by_name[name]
        reasons = [one for one in node["reasons"] if one["code"] not in UNSELECTED]
        if not reasons and not node["filtered"]:
            yield f"{name} without a reason of a matching device"


def never(said: Answer, right: Evaluator) -> Iterator[str]:
    """3. `NeverFits` exactly where no node serves with everything free."""
    world, given = said.world, said.document["answer"] == "NeverFits"
    if not _searched(said):
        # What a gate holds back is explained as if it were let through.
        if given or ("never" in said.text and not world.gate):
            yield f"never, although {world.slip or 'a gate'} is in the way"
        return
    truth = right.never() is True
    if world.slip and not _slip_tells(world):
        return
    if world.slip:
        # No device meets what is written: never, but where slices are missing.
        unmet = world.requests[0].name
        decided = not any(right.unknown(one, unmet) for one in world.nodes)
        # No missing slice is supposed to have attributes of a domain that its driver never had.
        truth = decided or world.slip == "domain"
    if given != truth and world.slip != "driver":
        yield f"{said.document['answer']}, but never is {truth}"
    if given != ("never fit" in said.text):
        yield "the text says something else about never"


def _slip_tells(world: World) -> bool:
    """Tell whether a slip changes what is written at all."""
    first = world.requests[0]
    return world.slip in (*MISSING, "driver") or bool(first.model)


def slips(said: Answer, right: Evaluator) -> Iterator[str]:
    """4. The original name is suggested, and no name with which the pod could not fit."""
    world = said.world
    if not world.slip or world.gate or not _slip_tells(world):
        return
    _, meant = world.written()
    names = "\n".join(
        [
            said.text,
            *said.document["hints"],
            *(str(one.get("to", "")) for one in said.document["suggestions"]),
        ]
    )
    possible = any(map(right.at_best, world.nodes))
    if possible and not re.search(rf"(?<![\w.-]){re.escape(meant)}(?![\w-])", names):
        yield f"{meant} is not suggested for slip {world.slip}"
    for one in said.document["suggestions"]:
        if one["kind"] == "Correct" and not _helps(one, world, right):
            yield f"suggests {one['to']}, with which the pod cannot fit"


def _helps(suggestion: Json, world: World, right: Evaluator) -> bool:
    if world.slip in ("value", "case"):
        models = [one for of in MODELS.values() for one in of if one == suggestion["to"]]
        return any(
            right.at_best(node, with_models(world, model))
            for model in models
            for node in world.nodes
        )
    return any(map(right.at_best, world.nodes))


def suggestions(said: Answer, right: Evaluator) -> Iterator[str]:
    """5. Each suggestion makes the pod fit; where one change suffices, one is offered."""
    if not _searched(said) or said.world.slip:
        return
    nodes = {one.name: one for one in said.world.nodes}
    singles = 0
    for one in said.document["suggestions"]:
        if one["kind"] == "Correct" or one["node"] not in nodes:
            yield f"suggests {one['text']}"
            continue
        changes = frozenset(
            change for part in one.get("changes") or [one] for change in _changes(part, one["node"])
        )
        singles += "changes" not in one
        if not right.fits(nodes[one["node"]], changes):
            yield f"with {one['text']} the pod does not fit"
    many, _ = right.nearest()
    if said.document["answer"] == "DoesNotFit" and many == 1 and not singles:
        yield "one change suffices, and none is offered"


def _changes(one: Json, node: str) -> Iterator[Change]:
    kind = one["kind"]
    if kind == "EndHolder":
        yield from (("end", name) for name in one["holders"])
    elif kind == "AddToleration":
        yield "tolerate", one["key"]
    elif kind == "TolerateNode":
        yield "accept", one["key"]
    elif kind == "HealNode":
        yield "heal", node
    elif kind == "CompletePool":
        yield "complete", f"{one['driver']}/{one['pool']}"


def first_sentence(said: Answer, right: Evaluator) -> Iterator[str]:
    """6. The first sentence names the kind of cause."""
    world, first = said.world, said.first
    if world.gate:
        if "gate" not in first:
            yield f"no gate: {first}"
        return
    if world.scheduler != "default-scheduler" and world.slip not in MISSING:
        if world.scheduler not in first:
            yield f"no scheduler: {first}"
        return
    if world.slip or said.document["answer"] != "DoesNotFit":
        return
    many, nodes = right.nearest()
    if many in (0, FAR):
        return
    devices = any(not right.serves(one) for one in nodes)
    around = [one for one in nodes if not right.runs(one)]
    if devices != ("for devices" in first):
        yield f"devices are {'' if devices else 'not '}the cause: {first}"
    if around and len(around) == len(nodes) and not re.search(r"cpu|taint|cordoned|may run", first):
        yield f"nodes keep it away: {first}"


def form(said: Answer, _: Evaluator) -> Iterator[str]:
    """7. No line is broken off, repeated, or left without what it announces."""
    for text in (said.text, said.devices):
        shown = [one.rstrip() for one in text.splitlines()]
        for number, line in enumerate(shown):
            if BROKEN.search(line):
                yield f"broken: {line}"
            if line.endswith(":") and not "".join(shown[number + 1 : number + 2]):
                yield f"nothing follows: {line}"
    long = [one for one in said.text.splitlines() if one]
    for line in sorted({one for one in long if long.count(one) > 1}):
        yield f"twice: {line}"
    texts = [str(one) for one in said.document["suggestions"]]
    if len({*texts}) < len(texts):
        yield "a suggestion twice"


def held_by(world: World, device: Device) -> str:
    return next((one.name for one in world.holders if device in one.devices), "")
