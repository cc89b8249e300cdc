"""What earlier reviews found, so that the same is judged once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from sys import getsizeof
from typing import TypeVar

from dragoman.driverconfigs.parameters_validation import ValidationResult
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import Key
from dragoman_webhooks.response import Opinion

LIMIT_BYTES = 8 * 1024 * 1024
"""Bytes of a memory of judgements, and of one of opinions."""
OBJECT_BYTES = 512
"""Bytes of a remembered object, or of one complaint, beside its texts; rather more than less."""

Name = TypeVar("Name")
Value = TypeVar("Value")
Subject = tuple[str, bytes]
"""A kind of object, and the part of it that a review looks at, as canonical JSON."""


class BoundedMemory(MutableMapping[Name, Value]):
    """Forgets the oldest when it is full.

    Safe to use from several threads.

    Args:
        weight: Tells the bytes of a key and a value.
        limit: Bytes of all together.
    """

    def __init__(self, weight: Callable[[Name, Value], int], limit: int = LIMIT_BYTES) -> None:
        self._weight = weight
        self._limit = limit
        self._size = 0
        self._lock = threading.Lock()
        # Its first key is found at once, also after many that were forgotten.
        self._values: OrderedDict[Name, Value] = OrderedDict()

    def __getitem__(self, name: Name) -> Value:
        """Return what is remembered; raise KeyError."""
        return self._values[name]

    def __setitem__(self, name: Name, value: Value) -> None:
        """Remember something."""
        weight = self._weight(name, value)
        with self._lock:
            if name in self._values:
                return
            self._values[name] = value
            self._size += weight
            while self._size > self._limit:
                self._size -= self._weight(*self._values.popitem(last=False))

    def __delitem__(self, name: Name) -> None:
        """Forget something; raise KeyError."""
        with self._lock:
            self._size -= self._weight(name, self._values.pop(name))

    def __iter__(self) -> Iterator[Name]:
        """Iterate over the keys, the oldest first."""
        return iter(list(self._values))

    def __len__(self) -> int:
        """Return how much is remembered."""
        return len(self._values)


@dataclass(slots=True)
class _Opinions:
    registry: Registry
    remembered: BoundedMemory[Subject, Opinion]


class Memories:
    """All that a webhook remembers.

    Args:
        limit: Bytes that each of the two memories may take.

    Attributes:
        judgements: Of single configs; they outlive other schemas' changes.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self.judgements: BoundedMemory[Key, ValidationResult] = BoundedMemory(
            _weight_of_judgement, limit
        )
        self._opinions = _Opinions(Registry(), BoundedMemory(_weight_of_opinion, limit))

    def opinions(self, registry: Registry) -> BoundedMemory[Subject, Opinion]:
        """Return what was found about whole objects with this registry, and no other."""
        # Once only: a review in a thread and one beside it may have different registries.
        opinions = self._opinions
        if opinions.registry is not registry:
            remembered = BoundedMemory(_weight_of_opinion, self._limit)
            opinions = self._opinions = _Opinions(registry, remembered)
        return opinions.remembered


def _weight_of_judgement(key: Key, judgement: ValidationResult) -> int:
    found = (*judgement.errors, *judgement.warnings)
    texts = (text for one in found for text in (one.path, one.detail, one.value, one.public))
    return sum(map(getsizeof, (*key, *texts))) + OBJECT_BYTES * (1 + len(found))


def _weight_of_opinion(subject: Subject, opinion: Opinion) -> int:
    return sum(map(getsizeof, (subject[-1], opinion.fields, *opinion.drivers))) + OBJECT_BYTES
