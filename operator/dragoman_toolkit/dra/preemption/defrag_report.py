"""Table and document of `defrag`."""

from collections.abc import Iterator
from typing import Any

from dragoman.inventory.facts.world import PodFact, World
from dragoman_base.words import counted
from dragoman_toolkit.defrag.defrag import DefragOutcome, Move, Moves
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table
from dragoman_toolkit.dra.preemption import reading
from dragoman_toolkit.dra.preemption.preempt_report import controller, devices, listed, owner

_STATUS = {DefragOutcome.NONE: Exit.OBSTACLE, DefragOutcome.UNKNOWN: Exit.UNKNOWN}


def report(world: World, pod: PodFact, title: str, copies: int, moves: Moves) -> Report:
    """Return a plan of moves as it is printed.

    Args:
        world: The cluster.
        pod: The first that needs room.
        title: What all of them are.
        copies: How many they are.
        moves: The plan.
    """
    said = (*reading.notes(world), *notes.common(world))
    status = _STATUS.get(moves.outcome, Exit.CLEAR)
    blocks = tuple(_blocks(title, moves))
    return Report("DefragmentationPlan", _document(world, pod, copies, moves), blocks, status, said)


def _blocks(name: str, moves: Moves) -> Iterator[Table | str | Cell]:
    where = ", ".join(
        f"{counted(len(one.devices), 'device')} on {one.node}" for one in moves.targets
    )
    match moves.outcome:
        case DefragOutcome.FITS:
            yield f"{name} fits as it is ({where}): nothing has to move."
        case DefragOutcome.PLANNED:
            many = len(moves.moves)
            makes = "makes" if many == 1 else "make"
            yield f"{counted(many, 'move')} {makes} room for {name} ({where}):"
            yield _table(moves.moves)
            yield ""
            if moves.complete:
                sure = "complete: no plan has fewer moves"
            else:
                sure = "not complete: a plan with fewer moves may exist"
            yield f"Searched {counted(moves.nodes, 'node')}, {sure}. Moved pods restart."
            yield (
                "Move one pod at a time, in this order, with `kubectl cordon` on the nodes that "
                "they leave, else some come back; then `kubectl uncordon`."
            )
        case DefragOutcome.NONE:
            yield f"No moves make room for {name}: searched {counted(moves.nodes, 'node')}."
            yield from _stays(moves)
        case DefragOutcome.UNKNOWN:
            yield f"The search is too large to say whether moves make room for {name}."
    yield "Nothing was changed."


def _table(moves: tuple[Move, ...]) -> Table:
    rows = tuple(
        (
            str(number),
            one.moved.pod.key,
            one.moved.pod.node,
            one.placed.node,
            str(len(one.placed.devices)),
            owner(one.moved.pod),
            ", ".join(f"{b.name} allows {b.allowed}" for b in one.moved.budgets) or "-",
        )
        for number, one in enumerate(moves, 1)
    )
    return Table(("MOVE", "POD", "FROM", "TO", "DEVICES", "CONTROLLER", "BUDGET"), rows)


def _stays(moves: Moves) -> Iterator[Table | str]:
    """Yield why pods stay where they are."""
    rows = tuple(
        (node, listed([one.text for one in reasons]))
        for node, reasons in moves.reasons.items()
        if reasons
    )
    if rows:
        yield ""
        yield Table(("NODE", "STAYS BECAUSE"), rows)


def _document(world: World, pod: PodFact, copies: int, moves: Moves) -> dict[str, Any]:
    return {
        **notes.header(world),
        "namespace": pod.pod.metadata.namespace,
        "name": pod.pod.metadata.name,
        "replicas": copies,
        "outcome": str(moves.outcome),
        "complete": moves.complete,
        "nodesSearched": moves.nodes,
        "targets": [{"node": one.node, "devices": devices(one.devices)} for one in moves.targets],
        "moves": [
            {
                "namespace": one.moved.pod.namespace,
                "name": one.moved.pod.name,
                "uid": one.moved.pod.uid,
                "priority": one.moved.pod.priority,
                "controller": controller(one.moved.pod),
                "from": one.moved.pod.node,
                "to": one.placed.node,
                "devices": devices(one.moved.devices),
                "newDevices": devices(one.placed.devices),
                "budgets": [
                    {"name": budget.name, "disruptionsAllowed": budget.allowed}
                    for budget in one.moved.budgets
                ],
            }
            for one in moves.moves
        ],
        "stays": [
            {"node": node, "reasons": [{"code": str(one.code), "text": one.text} for one in found]}
            for node, found in moves.reasons.items()
            if found
        ],
    }
