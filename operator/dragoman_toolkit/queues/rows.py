"""Rows of all queue managers of a cluster."""

from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.queues.facts import Queues
from dragoman_toolkit.queues.kueue import KueueRows
from dragoman_toolkit.queues.managers import KUEUE, VOLCANO
from dragoman_toolkit.queues.usage import Row
from dragoman_toolkit.queues.volcano import VolcanoRows, kai_rows


def rows(queues: Queues, inventory: Inventory) -> tuple[Row, ...]:
    """Return a row for each queue and resource of devices, in the order of their names."""
    found: list[Row] = []
    for name, manager in queues.managers.items():
        if name == KUEUE:
            found += KueueRows(queues, inventory, manager).rows()
        elif name == VOLCANO:
            found += VolcanoRows(queues, inventory, manager).rows()
        else:
            found += kai_rows(queues, inventory, manager)
    return tuple(sorted(found, key=lambda row: (row.manager, row.queue, row.resource)))
