"""An explanation in one line, for an Event: how many nodes lack what, without names of holders.

A pod's Events are read by users of its namespace, so that a note names nodes, classes, attributes
and taints, which all users of devices may know, and never objects of other namespaces.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.allocation import BudgetExceeded, Code, FatalError, Reason
from dragoman.allocation.codes import WORDS
from dragoman.diagnosis.answers import DEVICES, Answer, Explanation, Hint
from dragoman.diagnosis.groups import concerned, worded
from dragoman.diagnosis.nearness import FAR, NEVER, POOLS, NodeAnswer, Rivals, short_of
from dragoman.diagnosis.obstacles import ObstacleCode
from dragoman.diagnosis.wording import listed as listed_names
from dragoman.diagnosis.wording import node_lacks, value_text
from dragoman.inventory.inventory import UNSEEN
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman_base.words import counted, listed

LONGEST = 1024
"""Bytes of a note (API: events.k8s.io/v1 Event)."""
VALUES = 4
"""Values of an attribute that a note lists."""
SEARCH_TOO_LONG = "SearchTooLong"
TOO_EXPENSIVE = "TooExpensive"
_EXPENSIVE = (
    "too expensive to explain: the pod's selectors, or the search for its devices, take too long"
)
NODE_FILTERED = "NodeFiltered"
AVAILABLE = "DevicesAvailable"
ALLOCATED = "Allocated"
_CONTROLLER = frozenset(
    {
        ObstacleCode.SCHEDULING_GATED,
        ObstacleCode.CLAIM_NOT_CREATED,
        ObstacleCode.TEMPLATE_NOT_FOUND,
        ObstacleCode.QUOTA_EXCEEDED,
    }
)
"""Obstacles that the scheduler has not looked at, or about which the claim controller posts."""
_POOLS = (*POOLS, Code.NO_SLICE_FOR_NODE)
"""What is said of pools, in this order."""
_NEVER_MEANT = frozenset({Code.NODE_MISMATCH})

Phrase = tuple[str, str]
"""A code, and words without numbers."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an Event says."""

    reason: str  # The code that concerns most nodes
    # In words, at most `LONGEST` bytes; empty where devices are not what the pod lacks
    text: str = ""
    # Equal for explanations with the same reasons, however many nodes have them
    identity: tuple[str, ...] = ()


def note(explanation: Explanation) -> Note:
    """Return what an Event says about a pod that waits.

    Args:
        explanation: Of the pod.
    """
    stopping = [one for one in explanation.subject.obstacles if one.stops]
    if stopping:
        first = stopping[0]
        if first.code in _CONTROLLER:
            return Note(str(first.code))
        text = first.message + (f": {first.remedy}" if first.remedy else "")
        return Note(str(first.code), shortened(text), (text,))
    if explanation.fatals:
        return _fatal(explanation)
    if explanation.expensive:
        return Note(TOO_EXPENSIVE, _EXPENSIVE, (TOO_EXPENSIVE,))
    if explanation.answer is Answer.NEVER_FITS:
        return _never(explanation)
    if explanation.answer in (Answer.FITS, Answer.ALLOCATED):
        return Note(AVAILABLE if explanation.answer is Answer.FITS else ALLOCATED)
    if explanation.nodes and all(_has_other_cause(one) for one in explanation.nodes):
        return Note(NODE_FILTERED)
    found = _grouped(explanation.nodes)
    more = [*hint_texts(explanation)]
    if more:
        text = shortened("; ".join((found.text, *more)))
        return Note(found.reason, text, (*found.identity, *more))
    return found


def _has_other_cause(node: NodeAnswer) -> bool:
    """Tell whether devices are not what a node lacks, or no matter there."""
    return bool(node.lacks) and (node.has_devices or node.distance == FAR)


def _never(explanation: Explanation) -> Note:
    """Say why a pod never fits; nothing where that has nothing to do with devices."""
    said = [*dict.fromkeys((*never_texts(explanation), *hint_texts(explanation)))]
    reason = str(Answer.NEVER_FITS)
    if all(one.kind != DEVICES for one in explanation.causes):
        return Note(reason)
    return Note(reason, shortened(f"can never fit: {'; '.join(said)}"), tuple(said))


def never_texts(explanation: Explanation) -> Iterator[str]:
    """Yield why a pod never fits; a slip with what was meant says more than its cause."""
    hints = [one.text for one in shown_hints(explanation)]
    for cause in explanation.causes:
        yield next((one for one in hints if _stem(cause.text) in one), cause.text)
    if explanation.causes and all(one.kind != DEVICES for one in explanation.causes):
        yield "devices are not the cause"


def shown_hints(explanation: Explanation) -> Iterator[Hint]:
    """Yield the slips of which a correction is known, or that no cause says."""
    for one in explanation.hints:
        if one.meant or not explanation.causes:
            yield one


def hint_texts(explanation: Explanation) -> Iterator[str]:
    """Yield the slips that no cause names."""
    stems = [_stem(one.text) for one in explanation.causes]
    for one in shown_hints(explanation):
        if not any(stem in one.text for stem in stems):
            yield one.text


def _stem(text: str) -> str:
    """Return a cause without its numbers in parentheses, as slips have it too."""
    return text.partition(" (")[0]


def _fatal(explanation: Explanation) -> Note:
    hints = "".join(f"; {one}" for one in hint_texts(explanation))
    text = (
        f"the scheduler stops at this pod, whatever the nodes are: {explanation.fatals[0]}{hints}"
    )
    codes = (
        str(getattr(one.outcome, "code", ""))
        for one in explanation.nodes
        if getattr(one.outcome, "message", "") == explanation.fatals[0]
    )
    return Note(next(codes, "Fatal"), shortened(text), (explanation.fatals[0],))


def _grouped(nodes: Iterable[NodeAnswer]) -> Note:
    found: defaultdict[tuple[Phrase, ...], list[NodeAnswer]] = defaultdict(list)
    every = list(nodes)
    near = min((one.distance for one in every), default=FAR)
    nearest = [one for one in every if near.changes >= NEVER or one.distance == near]
    for node in nearest:
        found[tuple(_phrases(node))].append(node)
    if not found:
        return Note(str(Code.NO_SLICE_FOR_NODE), "0 nodes", ("0 nodes",))
    groups = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    start = f"{counted(len(every), 'node')}: "
    if len(nearest) < len(every):
        names = listed_names(one.node for one in nearest)
        start = f"{counted(len(every), 'node')}, the nearest {names}: "
    named = len(nearest) < len(every) and len(groups) == 1
    parts = [
        f"{'' if named else f'{len(members)} '}{'; '.join(words for _, words in phrases)}"
        f"{_values(members)}"
        for phrases, members in groups
    ]
    return Note(
        reason=groups[0][0][0][0],
        text=_joined(start, parts),
        identity=tuple(sorted("; ".join(words for _, words in phrases) for phrases, _ in groups)),
    )


def _phrases(node: NodeAnswer) -> Iterator[Phrase]:
    """Yield what a node lacks, at least one thing."""
    if node.lacks:
        for words in node_lacks(node.lacks, numbers=False):
            yield NODE_FILTERED, words
        if node.excluded or node.has_devices or isinstance(node.outcome, FatalError):
            return
    if node.pinned:
        yield str(Code.NODE_SELECTOR_MISMATCH), "other nodes hold the devices of its claims"
        return
    if node.unavailable:
        for one in node.unready:
            details = one.details
            failed = str(details.get("condition") or "")
            missing = ", ".join(details.get("conditions") or ())
            words = f"has failed ({failed})" if failed else f"is not ready ({missing})"
            yield str(one.code), f"a device of its claims {words}"
        return
    if isinstance(node.outcome, BudgetExceeded) and not node.short:
        yield SEARCH_TOO_LONG, f"search too long ({SEARCH_TOO_LONG})"
        return
    yield from dict.fromkeys((*_of_requests(node), *_of_pools(node)))


def _of_requests(node: NodeAnswer) -> Iterator[Phrase]:
    short = short_of(node)
    if not short:
        if any(one.devices for one in node.requests):
            yield str(Code.NO_COMBINATION), WORDS[Code.NO_COMBINATION].short
        return
    several = len(node.requests) > 1
    for found in short:
        names = dict.fromkeys(one.name for one in found.requests)
        label = f"{listed_names(names)}: " if several else ""
        for code, words in _of_rivals(found):
            yield code, f"{label}{words}"


def _of_rivals(found: Rivals) -> Iterator[Phrase]:
    if found.free:
        short = found.short
        words = "one device short" if short == 1 else f"{short} devices short"
        yield str(Code.NOT_ENOUGH_DEVICES), words
        return
    order = list(Code)
    reasons = (one for request in found.requests for one in worded(request))
    kinds = {one.kind(): one for one in reasons if one.code not in _NEVER_MEANT}
    for one in sorted(kinds.values(), key=lambda one: (order.index(one.code), str(one.kind()))):
        yield str(one.code), _words(one)


def _of_pools(node: NodeAnswer) -> Iterator[Phrase]:
    codes = {one.code for one in node.others} & {*POOLS}
    if not node.requests or not any(one.devices for one in node.requests):
        codes.add(Code.NO_SLICE_FOR_NODE)
    for one in sorted(codes, key=_POOLS.index):
        yield str(one), WORDS[one].short


def _words(reason: Reason) -> str:
    """Describe an obstacle without numbers and names of claims."""
    if reason.code is Code.TAINT_NOT_TOLERATED:
        return _tainted(reason.details)
    return reason.short()


def _tainted(details: Mapping[str, Any]) -> str:
    if details.get("key") == PREEMPTION:
        return f"reserved for {UNSEEN}"
    return f"tainted {listed_names(details.get('taints') or ())}"


def _values(nodes: Iterable[NodeAnswer]) -> str:
    """Name the values for which selectors are false: ` (productName A100, L4)`."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        for request in concerned(node):
            for reason in worded(request):
                if reason.code is Code.SELECTOR_REJECTED and not request.free:
                    for name, value in (reason.details.get("values") or {}).items():
                        found[name.rpartition(".")[2]][value_text(value)] += 1
    shown = "; ".join(
        f"{name} {listed(sorted(counted), VALUES)}" for name, counted in sorted(found.items())
    )
    return f" ({shown})" if shown else ""


def _joined(start: str, parts: list[str]) -> str:
    """Join as many parts as fit, and say how many more there are."""
    text = start + parts[0]
    for index, part in enumerate(parts[1:], 1):
        rest = len(parts) - index
        longer = f"{text}, {part}"
        # Room for the words about the rest, which stand there where one part more does not fit.
        if len(longer.encode()) > LONGEST - 40:
            return shortened(f"{text}, and {rest} more reasons")
        text = longer
    return shortened(text)


def shortened(text: str) -> str:
    """Cut a text at the limit of a note, between two characters."""
    encoded = text.encode()
    if len(encoded) <= LONGEST:
        return text
    return encoded[: LONGEST - 3].decode(errors="ignore") + "…"
