"""Nodes that publish fewer devices than the shape of their machine type: often a lost device."""

from collections import Counter
from collections.abc import Iterator

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman_toolkit.shapes import known
from dragoman_toolkit.shapes.nodes import INSTANCE_TYPE
from dragoman_toolkit.shapes.shape import ShapeError


def differing(facts: DoctorFacts) -> Iterator[Finding]:
    """Yield a finding for each node and driver with fewer devices than the shape has."""
    nodes = facts.inventory.world.nodes
    there = Counter(
        (one.node, one.id.driver)
        for one in facts.inventory.devices.values()
        if one.content is not None
    )
    if not any(INSTANCE_TYPE in nodes[name].node.labels for name, _ in there if name in nodes):
        return
    try:
        shapes = {one.machine: one for one in known.every()}
    except ShapeError:  # A file of the user's folder, which `shapes list` names.
        return
    for name, node in sorted(nodes.items()):
        shape = shapes.get(node.node.labels.get(INSTANCE_TYPE, ""))
        totals: Counter[str] = Counter()
        for pool in shape.pools if shape else ():
            totals[pool.driver] += pool.total if pool.complete or pool.count else 0
        for driver, total in totals.items():
            found = there.get((name, driver), 0)
            # A driver that publishes nothing may not be installed, and one of partitions more.
            if shape is not None and 0 < found < total:
                yield Finding(
                    Id.SHAPE_DIFFERS,
                    FindingSubject(name, "Node", name, api_version="v1"),
                    f"{driver} publishes {found} devices, and shape {shape.name} has {total}",
                    f"kubectl dra top nodes; kubectl describe node {name}",
                )
