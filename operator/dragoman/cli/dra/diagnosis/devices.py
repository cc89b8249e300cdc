"""`explain --devices`: a line for each device of each node, and for what keeps a node away."""

from collections.abc import Iterator

from dragoman.allocation import Allocated, Cluster, DeviceID
from dragoman.cli.dra.output import Table
from dragoman.diagnosis.answers import Explanation, NodeAnswer
from dragoman.diagnosis.wording import words
from dragoman.inventory.ages import UNKNOWN

TAKEN = "the scheduler takes it"
FREE = "nothing keeps the request away"
_FILTERED = "NodeFiltered"


def table(cluster: Cluster, explanation: Explanation) -> Table:
    """Return what stands in the way of each device.

    Args:
        cluster: That of the explanation.
        explanation: The answer.
    """
    rows = (row for node in explanation.nodes for row in _rows(cluster, node))
    return Table(("NODE", "REQUEST", "DEVICE", "CODE", "WHY"), tuple(rows))


def _rows(cluster: Cluster, node: NodeAnswer) -> Iterator[tuple[str, ...]]:
    if node.filtered:
        yield node.node, UNKNOWN, UNKNOWN, _FILTERED, ", ".join(node.filtered)
    for reason in node.others:
        what = reason.device or reason.pool or UNKNOWN
        yield node.node, reason.request or UNKNOWN, str(what), str(reason.code), words(reason)
    if isinstance(node.outcome, Allocated) and not node.filtered:
        for made in node.outcome.new:
            for one in made.devices:
                device = DeviceID(one.driver, one.pool, one.device)
                yield node.node, one.request, str(device), UNKNOWN, TAKEN
    for request in node.requests:
        kept_away = {reason.device: reason for reason in request.reasons}
        for device in _devices(cluster, node.node):
            found = kept_away.get(device)
            code, why = (UNKNOWN, FREE) if found is None else (str(found.code), words(found))
            yield node.node, request.name, str(device), code, why


def _devices(cluster: Cluster, node: str) -> Iterator[DeviceID]:
    """Yield the devices of a node in the order of the allocator."""
    for pool in cluster.node_pools(node).pools:
        yield from pool.ids
