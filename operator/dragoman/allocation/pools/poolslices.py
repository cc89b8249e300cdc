"""All slices of one pool."""

from dragoman.allocation.pools.pool import Pool
from dragoman.model.slice import Slice


class PoolSlices:
    """All slices of one pool by name, with what was made of them.

    Attributes:
        slices: The slices.
        everywhere: Those that belong to the pool on every node.
        conditional: How many belong to it on nodes with certain labels, or by single devices.
        common: The pool as nodes see it for which no other slice is relevant.
        late: Whether `common` is made on next use, because the pool is large.
        made: Pools by the names of the slices that are relevant for a node.
        version: Changes whenever a slice does.
        uses: Changes whenever a claim on the pool does.
    """

    __slots__ = ("common", "conditional", "everywhere", "late", "made", "slices", "uses", "version")

    def __init__(self) -> None:
        self.slices: dict[str, Slice] = {}
        self.everywhere: dict[str, Slice] = {}
        self.conditional = 0
        self.common: Pool | None = None
        self.late = False
        self.made: dict[tuple[str, ...], Pool | None] = {}
        self.version = 0
        self.uses = 0
