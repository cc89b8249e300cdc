"""Informers with a store of their own, for owners that only need to know of each change."""

from collections.abc import Callable
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.kube.store import DeletedUIDs, Fact, Store
from dragoman.model import Document


def storing_informer(
    client: Client,
    resource: Resource,
    parse: Callable[[Document], Fact],
    changed: Callable[[Fact | None, Fact | None], None] = lambda _old, _new: None,
    store: Store[Fact] | None = None,
    **options: Any,
) -> Informer[Fact]:
    """Return an informer that keeps a store like the API server's objects.

    Args:
        client: Where objects are read.
        resource: Which objects.
        parse: Makes a fact of an object; raises MalformedObjectError.
        changed: Called with a fact before and after each change, once it is stored; None where
            there is none.
        store: With indices; without any by default.
        options: Further attributes of the informer.
    """
    kept = Store(DeletedUIDs()) if store is None else store

    def put(fact: Fact) -> None:
        known = kept.get(fact.metadata.namespace, fact.metadata.name)
        if kept.put(fact):
            changed(known, fact)

    def drop(fact: Fact) -> None:
        metadata = fact.metadata
        known = kept.drop(metadata.namespace, metadata.name, metadata.uid)
        if known is not None:
            changed(known, None)

    options = {"rolled_back": kept.roll_back, **options}
    return Informer(client, resource, kept, parse, put, drop, **options)
