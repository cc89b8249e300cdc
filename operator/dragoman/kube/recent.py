"""A mapping that keeps the entries that were set last."""

from collections import OrderedDict
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(OrderedDict[Key, Value]):
    """An ordered mapping, the entry that was set last at its end; it drops the first at the limit.

    Args:
        limit: How many entries are kept.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        if key in self:
            self.move_to_end(key)
        OrderedDict.__setitem__(self, key, value)
        if len(self) > self._limit:
            self.popitem(last=False)
