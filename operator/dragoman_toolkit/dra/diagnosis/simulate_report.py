"""Table and document of `simulate`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import yaml

from dragoman.cli.terminal import say
from dragoman.diagnosis import groups, wording
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.filters import LEFT_OUT
from dragoman.diagnosis.nearness import nearest
from dragoman.diagnosis.note import hint_texts, never_texts
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.usage.summary import count_free
from dragoman.inventory.usage.waiting import classes_of
from dragoman_base.words import counted, natural
from dragoman_toolkit.attributevalues import GangValues, gang_values
from dragoman_toolkit.diagnosis.simulate import PlacedWorkload, Placement
from dragoman_toolkit.diagnosis.virtualnodes import manifests
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.diagnosis.simulation import Simulation
from dragoman_toolkit.dra.output import Exit, Report, Table, Unusable
from dragoman_toolkit.shapes.nodes import CAPI, capi


def report(simulation: Simulation, attributes: Sequence[str] = ()) -> Report:
    """Return what `simulate` prints; UNKNOWN where labels are missing.

    Args:
        simulation: The answer.
        attributes: Whose values are said of all pods; those of constraints are anyway.
    """
    world, then = simulation.world, simulation.then
    fits = any(one.placed for one in then) and not any(one.refused for one in then)
    status = notes.status(world) if fits else Exit.OBSTACLE
    said = [*simulation.unsure, *simulation.shapes, f"not considered: {', '.join(LEFT_OUT)}"]
    if simulation.left_out:
        said.append(f"left out, as only `helm test` creates it: {', '.join(simulation.left_out)}")
    values = [*_values(simulation, attributes)]
    document = {**_document(simulation), "values": [_values_document(*one) for one in values]}
    table = _table(document["nodes"])
    return Report(
        "Simulation",
        document,
        (
            *([table] if table.rows else []),
            *_sentences(simulation),
            *(_values_text(*one) for one in values),
        ),
        Exit.UNKNOWN if simulation.unsure else status,
        (*said, *notes.common(world)),
    )


def _values(
    simulation: Simulation, attributes: Sequence[str]
) -> Iterator[tuple[PlacedWorkload, GangValues]]:
    """Yield which values the placed pods of each workload get, and whether they agree."""
    world = simulation.inventory.world
    for workload, then in zip(simulation.workloads, simulation.then, strict=True):
        pods = {copies.pod.key: copies.pod for parts in workload.sets for copies in parts}
        asking = [of_pod(world, pod, planned=True) for pod in pods.values()]
        claims = [one.claim for subject in asking for one in subject.wanted]
        constrained = [one.attribute for claim in claims for one in claim.spec.constraints]
        for name in dict.fromkeys((*attributes, *filter(None, constrained))):
            if then.devices:
                yield workload, gang_values(simulation.inventory, name, then.devices)


def _values_document(workload: PlacedWorkload, found: GangValues) -> dict[str, Any]:
    return {
        "workload": workload.title,
        "attribute": found.attribute,
        "values": [{"value": value, "pods": list(pods)} for value, pods in found.pods.items()],
        "agree": found.agree,
    }


def _values_text(workload: PlacedWorkload, found: GangValues) -> str:
    title = f"{workload.title}: " if workload.title else ""
    if not found.pods:
        return f"{title}no device of its pods has attribute {found.attribute}."
    parts = [f"{value or 'no value'} ({_pods([*pods])})" for value, pods in found.pods.items()]
    agree = "all pods agree" if found.agree else "the pods do not agree"
    return f"{title}{found.attribute}: {', '.join(parts)}; {agree}."


def capi_annotations(simulation: Simulation) -> Exit:
    """Print what Cluster API's autoscaler reads of the shapes; return the exit status."""
    if not simulation.typed:
        raise Unusable("-o shape-capi: name a machine type by --add-node type=TYPE")
    for one in simulation.typed:
        found = capi(one.shape, one.options)
        text = yaml.safe_dump({"metadata": {"annotations": found}}, sort_keys=False)
        click.echo(f"# MachineDeployment or MachineSet of {one.shape.machine}\n{text}", nl=False)
        if missing := [name for name in ("cpu", "memory") if f"{CAPI}/{name}" not in found]:
            say(
                f"! {one.shape.name} has no {' and '.join(missing)}, without which the autoscaler "
                f"scales no group from zero: add allocatable.{missing[0]}=… to --add-node"
            )
        drivers = {pool.driver for pool in one.shape.pools} - {found.get(f"{CAPI}/dra-driver")}
        if drivers and not (one.options.plugin or one.options.drivers):
            say(f"! it knows one driver a group: nothing of {', '.join(sorted(map(str, drivers)))}")
    say(
        "! the autoscaler then knows devices gpu-0 and on with the attribute type: gpu alone; a "
        "selector that reads anything else does not match them"
    )
    return Exit.CLEAR


def _sentences(simulation: Simulation) -> Iterator[Table | str]:
    """Yield what is said below the table of nodes."""
    inventory = simulation.inventory
    several = len(simulation.then) > 1
    for workload, then in zip(simulation.workloads, simulation.then, strict=True):
        whole = workload.whole and not simulation.fill
        if several or whole:
            yield f"{workload.title}: {_placed(then)}"
        if then.refused and not whole:
            yield f"{counted(len(then.refused), 'pod')} not placed{_short(then.why)}."
        elif then.refused:
            yield f"Its next pod is not placed{_short(then.why)}."
        if simulation.fill:
            yield (
                f"{then.placed} more pods fit. Before them {_free(inventory, simulation.pod)} "
                "devices are free; the largest claim of this kind that fits on one node has "
                f"{simulation.largest}."
            )
        if simulation.more_nodes and not several:
            yield _more(simulation.more_nodes)
        if then.why is not None and (then.refused or simulation.fill):
            yield from ["The next one fits nowhere."] if simulation.fill else []
            yield from _reasons(inventory, then.why)
        if several and then is not simulation.then[-1]:
            yield ""
    if simulation.more_nodes and several:
        yield from ("", _more(simulation.more_nodes))


def _placed(then: Placement) -> str:
    """Say how many pods of a workload are placed."""
    total = then.placed + len(then.refused)
    if not then.refused:
        return f"all {total} pods are placed." if total > 1 else "its pod is placed."
    if then.whole and not then.placed:
        needed = f"at least {then.least} at once" if then.least else "all or not at all"
        return f"none of its {total} pods is placed: they are placed {needed}."
    sets = ", in whole sets only" if then.whole and not then.least else ""
    return f"{then.placed} of {total} pods are placed{sets}."


def _more(found: tuple[str, int]) -> str:
    like, many = found
    nodes = "One more node" if many == 1 else f"{many} more nodes"
    return f"{nodes} like {like} would do."


def _document(simulation: Simulation) -> dict[str, Any]:
    then, now, more = simulation.then, simulation.now, simulation.more_nodes
    return {
        **notes.header(simulation.world),
        "replicas": sum(one.placed + len(one.refused) for one in then),
        "placed": sum(one.placed for one in then),
        "placedNow": None if now is None else sum(one.placed for one in now),
        "workloads": [
            {
                "name": workload.title,
                "allOrNone": workload.whole and not workload.least,
                "placed": one.placed,
                "placedNow": None if now is None else now[number].placed,
                "notPlaced": list(one.refused),
            }
            for number, (workload, one) in enumerate(zip(simulation.workloads, then, strict=True))
        ],
        "nodes": _nodes(simulation),
        "notPlaced": [name for one in then for name in one.refused],
        "moreNodes": {"like": more[0], "count": more[1]} if more else None,
        "virtual": manifests(simulation.virtual),
        "notLookedAt": list(LEFT_OUT),
    }


def _reasons(inventory: Inventory, why: Explanation) -> Iterator[Table | str]:
    """Yield why the first pod that was not placed fits nowhere."""
    yield from why.fatals
    yield from (one.text for one in why.subject.obstacles)
    yield from hint_texts(why)
    lines = groups.groups(inventory, why.nodes)
    if lines:
        yield ""
        rows = tuple((wording.shortened(one.nodes), one.why) for one in lines)
        yield Table(("NODES", "WHY"), rows)


def _table(nodes: Iterable[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            f"{one['name']} (virtual)" if one["virtual"] else one["name"],
            "-" if one["now"] is None else str(one["now"]),
            str(one["then"]),
            _pods([pod["name"] for pod in one["pods"]]),
        )
        for one in nodes
    )
    return Table(("NODE", "NOW", "THEN", "PODS"), rows)


def _pods(names: list[str]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]}"


def _nodes(simulation: Simulation) -> list[dict[str, Any]]:
    then, now = simulation.then, simulation.now
    virtual = {one.node.node.name for one in simulation.virtual}
    names = {name for one in (*then, *(now or ())) for name in one.nodes}
    return [
        {
            "name": name,
            "virtual": name in virtual,
            "now": None if now is None or name in virtual else _count(now, name),
            "then": _count(then, name),
            "pods": [
                {"name": pod, "devices": one.devices.get(pod, [])}
                for one in then
                for pod in one.nodes.get(name, ())
            ],
        }
        for name in sorted(names, key=natural)
    ]


def _count(placements: Iterable[Placement], node: str) -> int:
    return sum(len(one.nodes.get(node, ())) for one in placements)


def _short(why: Explanation | None) -> str:
    if why is not None and why.answer is Answer.NEVER_FITS:
        return f": can never fit: {'; '.join(never_texts(why))}"
    near = [one for one in nearest(why.nodes) if one.short and not one.lacks] if why else []
    if not near:
        return ""
    many = "one device" if near[0].short == 1 else f"{near[0].short} devices"
    return f": {many} short on {wording.shortened(one.node for one in near)}"


def _free(inventory: Inventory, pod: PodFact) -> int:
    """Count the free devices of the DeviceClasses that a pod requests."""
    subject = of_pod(inventory.world, pod, planned=True)
    names = {name for claim in subject.claims for name in classes_of(claim)}
    members = {one.id: one for name in names for one in inventory.members.get(name, ())}
    return count_free(inventory, members.values())
