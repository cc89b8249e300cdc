"""Snapshots without names: every string of a cluster's own becomes a token, or is left out.

Names, labels, taints and tolerations become tokens: equal ones stay equal, and tokens sort as names
do, so that answers differ in names alone. What drivers publish stays, because selectors compare it.
"""

from dataclasses import replace

from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from dragoman_toolkit.anonymous.fields import FIELDS
from dragoman_toolkit.anonymous.publishednames import published_names
from dragoman_toolkit.anonymous.tokens import SeenNames, Tokens
from dragoman_toolkit.anonymous.treatments import LEFT_OUT, NameTreatment, version
from dragoman_toolkit.anonymous.walk import treated


def anonymized(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot whose answers differ from the original's in names alone."""
    kept = published_names(snapshot)
    seen = SeenNames()
    namespaces = {one.namespace for one in snapshot.unseen if one.namespace}
    for name in namespaces:
        seen("ns", name)
    _walk(snapshot, NameTreatment(seen, kept))
    tokens = seen.tokens()
    return replace(
        _walk(snapshot, NameTreatment(tokens, kept)),
        kubernetes=version(snapshot.kubernetes),
        unseen=tuple(_unseen(one, tokens) for one in snapshot.unseen),
    )


def _walk(snapshot: Snapshot, names: NameTreatment) -> Snapshot:
    """Treat every field: once to see all names, and once to replace them."""
    objects = {
        plural: tuple(treated(names, document, FIELDS[plural]) for document in found)
        for plural, found in snapshot.objects.items()
        if plural in FIELDS
    }
    return replace(snapshot, objects=objects)


def _unseen(one: Unseen, tokens: Tokens) -> Unseen:
    plural = one.plural if one.plural in FIELDS else LEFT_OUT
    return Unseen(plural, "forbidden", one.namespace and tokens("ns", one.namespace))
