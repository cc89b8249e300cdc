"""The record of pods that left the API, in an annotation of their claim, without names."""

from dataclasses import replace
from typing import Any, Final

from dragoman.inventory.snapshots.anonymous.tokens import NODE
from dragoman.inventory.snapshots.anonymous.treatments import NameTreatment, Treatment
from dragoman.model.departure import record, recorded


def _without_names(names: NameTreatment, value: Any) -> Any:
    if not isinstance(value, str):
        return ""
    found = [
        replace(
            one,
            uid=names.token("uid", one.uid),
            pod=names.token("object", one.pod),
            node=names.token(NODE, one.node) if one.node else "",
            node_uid=names.token("uid", one.node_uid) if one.node_uid else "",
        )
        for one in recorded(value).values()
    ]
    return record(found)


DEPARTURES: Final[Treatment] = _without_names
