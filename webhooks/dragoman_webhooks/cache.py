"""Results of earlier reviews, bounded in bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from sys import getsizeof
from typing import TypeVar

from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.parameters_validation import ValidationResult
from dragoman_configs.review.validation import Key
from dragoman_webhooks.response import ReviewResponse
from dragoman_webhooks.targets import CountDevices

LIMIT_BYTES = 8 * 1024 * 1024
"""Bytes of the cache of validation results, and of the cache of responses."""
OBJECT_BYTES = 512
"""Bytes of a cached object, or of one field error, beside its texts; an upper estimate."""

Name = TypeVar("Name")
Value = TypeVar("Value")
ConfigsKey = tuple[str, bytes]
"""A kind of object, and the part of the object with the configs, as canonical JSON."""


class BoundedCache(MutableMapping[Name, Value]):
    """A mapping that evicts the oldest entries when it is full; thread-safe.

    Args:
        size_of: Returns the bytes of a key and a value.
        limit: Bytes of all entries together.
    """

    def __init__(self, size_of: Callable[[Name, Value], int], limit: int = LIMIT_BYTES) -> None:
        self._size_of = size_of
        self._limit = limit
        self._size = 0
        self._lock = threading.Lock()
        # Finds its first key in constant time, also after many evictions; a dict does not.
        self._values: OrderedDict[Name, Value] = OrderedDict()

    def __getitem__(self, name: Name) -> Value:
        """Return a cached value; raise KeyError."""
        return self._values[name]

    def __setitem__(self, name: Name, value: Value) -> None:
        """Cache a value; a key that is cached already keeps its value."""
        size = self._size_of(name, value)
        with self._lock:
            if name in self._values:
                return
            self._values[name] = value
            self._size += size
            while self._size > self._limit:
                self._size -= self._size_of(*self._values.popitem(last=False))

    def __delitem__(self, name: Name) -> None:
        """Remove a value; raise KeyError."""
        with self._lock:
            self._size -= self._size_of(name, self._values.pop(name))

    def __iter__(self) -> Iterator[Name]:
        """Iterate over the keys, the oldest first."""
        return iter(list(self._values))

    def __len__(self) -> int:
        """Return the number of cached values."""
        return len(self._values)


class Caches:
    """The caches of one webhook.

    Args:
        limit: Bytes of each of the two caches.
        count_devices: What of the cluster reviews of targets need; None where they do without.

    Attributes:
        count_devices: As given.
        results: Validation results of single configs; a change of another schema keeps them.
    """

    def __init__(self, limit: int = LIMIT_BYTES, count_devices: CountDevices | None = None) -> None:
        self._limit = limit
        self.count_devices = count_devices
        self.results: BoundedCache[Key, ValidationResult] = BoundedCache(_result_size, limit)
        self._responses: tuple[Registry, BoundedCache[ConfigsKey, ReviewResponse]]
        self._responses = Registry(), BoundedCache(_response_size, limit)

    def responses(self, registry: Registry) -> BoundedCache[ConfigsKey, ReviewResponse]:
        """Return the cached responses of this registry, and of no other."""
        # Read the attribute once: another thread may replace it for another registry.
        reviewed_with, cache = self._responses
        if reviewed_with is not registry:
            cache = BoundedCache(_response_size, self._limit)
            self._responses = registry, cache
        return cache

    def forget(self, registry: Registry) -> None:
        """Remove the results of schemas that are not active any more."""
        configs = (
            config.digest
            for one in registry.objects.values()
            if one.active
            for config in one.active.configs.values()
        )
        active = frozenset(configs)
        for key in self.results:
            if key[0] not in active:
                self.results.pop(key, None)


def _result_size(key: Key, result: ValidationResult) -> int:
    errors = (*result.errors, *result.warnings)
    texts = (text for one in errors for text in (one.path, one.detail, one.value, one.public))
    return sum(map(getsizeof, (*key, *texts))) + OBJECT_BYTES * (1 + len(errors))


def _response_size(key: ConfigsKey, response: ReviewResponse) -> int:
    return sum(map(getsizeof, (key[-1], response.fields, *response.drivers))) + OBJECT_BYTES
