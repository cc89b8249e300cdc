"""The state of one namespace's copy, and the copy itself; pure."""

from enum import StrEnum
from typing import Any

from dragoman.model import Template
from dragoman.model.clustertemplate import (
    COPY_LABEL,
    HASH_ANNOTATION,
    ClusterTemplate,
    Namespace,
    is_copy,
)


class CopyState(StrEnum):
    """What a namespace has under the name of a ClusterResourceClaimTemplate.

    Attributes:
        CURRENT: The copy, as it is wanted.
        MISSING: Nothing; a copy is wanted.
        OUTDATED: A copy of an earlier generation, or a template that the copy replaces.
        CONFLICT: A template that is not a copy, and stays.
        UNWANTED: A copy that is not wanted any more.
        LEAVING: A template under deletion, which another finalizer keeps.
        NOTHING: Nothing is wanted, and no copy is there.
    """

    CURRENT = "current"
    MISSING = "missing"
    OUTDATED = "outdated"
    CONFLICT = "conflict"
    UNWANTED = "unwanted"
    LEAVING = "leaving"
    NOTHING = "nothing"


def copy_state(
    template: ClusterTemplate | None, namespace: Namespace | None, stored: Template | None
) -> CopyState:
    """Return the state of one namespace's copy.

    Args:
        template: The ClusterResourceClaimTemplate; None where it does not exist.
        namespace: The namespace; None where it does not exist.
        stored: The ResourceClaimTemplate of the same name in it, or None.
    """
    if namespace is None or namespace.terminating:
        return CopyState.NOTHING  # the deletion of a namespace deletes what is in it
    wanted = template is not None and not template.metadata.deleting and template.selects(namespace)
    if stored is None:
        return CopyState.MISSING if wanted else CopyState.NOTHING
    copied = is_copy(stored.metadata)
    if template is None or not wanted:
        return CopyState.UNWANTED if copied and not stored.metadata.deleting else CopyState.NOTHING
    if not copied and not template.replaces:
        return CopyState.CONFLICT
    if stored.metadata.deleting:
        return CopyState.LEAVING
    if stored.metadata.owner == template.reference and stored.copied_hash == template.digest:
        return CopyState.CURRENT
    return CopyState.OUTDATED


def copy_document(template: ClusterTemplate, namespace: str, api_version: str) -> dict[str, Any]:
    """Return the ResourceClaimTemplate to create.

    The owner lets the garbage collector delete the copies of a deleted object, also while dragoman
    does not run.
    """
    owner = template.reference
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": template.metadata.name,
            "namespace": namespace,
            "labels": {COPY_LABEL: template.metadata.name},
            "annotations": {HASH_ANNOTATION: template.digest},
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                }
            ],
        },
        "spec": template.template,
    }
