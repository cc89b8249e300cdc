"""The state of one namespace's copy, and the copy itself; pure."""

from collections.abc import Container
from enum import StrEnum
from typing import Any

from dragoman.model.clustertemplate import (
    COPY_LABEL,
    HASH_ANNOTATION,
    ClusterTemplate,
    Namespace,
    is_copy,
)
from dragoman.model.template import Template


class CopyState(StrEnum):
    """What a namespace has under the name of a ClusterResourceClaimTemplate.

    Attributes:
        CURRENT: The copy, as it is wanted.
        UNVERIFIED: A copy by its annotation alone: its spec is none that the API server is known to
            make of the template.
        MISSING: Nothing; a copy is wanted.
        OUTDATED: A copy of an earlier generation, or a template that the copy replaces.
        CONFLICT: A template that is not a copy, and stays.
        UNWANTED: A copy that is not wanted any more.
        LEAVING: A template under deletion, which another finalizer keeps.
        NOTHING: Nothing is wanted, and no copy is there.
    """

    CURRENT = "current"
    UNVERIFIED = "unverified"
    MISSING = "missing"
    OUTDATED = "outdated"
    CONFLICT = "conflict"
    UNWANTED = "unwanted"
    LEAVING = "leaving"
    NOTHING = "nothing"


def copy_state(
    template: ClusterTemplate | None,
    namespace: Namespace | None,
    stored: Template | None,
    made: Container[str] = frozenset(),
) -> CopyState:
    """Return the state of one namespace's copy.

    Args:
        template: The ClusterResourceClaimTemplate; None where it does not exist.
        namespace: The namespace; None where it does not exist.
        stored: The ResourceClaimTemplate of the same name in it, or None.
        made: Hashes of the specs that the API server makes of the template there.

    Users of the namespace can write owner and annotation of a template: only its spec
    distinguishes a copy from a forged one.
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
    if stored.metadata.owner != template.reference or stored.copied_hash != template.digest:
        return CopyState.OUTDATED
    return CopyState.CURRENT if stored.content in made else CopyState.UNVERIFIED


class MadeSpecs:
    """What the API server makes of templates: it adds defaults, and webhooks may change more.

    Learned from its responses to creations, dry runs included.
    """

    def __init__(self) -> None:
        self._anywhere: dict[str, tuple[str, str]] = {}
        self._there: dict[tuple[str, str], tuple[str, str]] = {}

    def learn(self, template: ClusterTemplate, made: Template) -> None:
        """Note what the API server answered to the creation of a copy."""
        name, namespace = template.metadata.name, made.metadata.namespace
        found = (template.digest, made.content)
        if self._anywhere.get(name, ("", ""))[0] != template.digest:
            self._anywhere[name] = found
        if self._anywhere[name] == found:
            self._there.pop((name, namespace), None)
        else:  # a webhook makes another spec in this namespace
            self._there[name, namespace] = found

    def of(self, template: ClusterTemplate | None, namespace: str) -> frozenset[str]:
        """Return hashes of specs: of what is made in most namespaces, and of the last one there."""
        if template is None:
            return frozenset()
        name = template.metadata.name
        known = self._anywhere.get(name), self._there.get((name, namespace))
        return frozenset(one[1] for one in known if one and one[0] == template.digest)

    def forget(self, name: str) -> None:
        """Forget a deleted object."""
        self._anywhere.pop(name, None)
        for key in [key for key in self._there if key[0] == name]:
            del self._there[key]

    def forget_namespace(self, namespace: str) -> None:
        """Forget a deleted namespace."""
        for key in [key for key in self._there if key[1] == namespace]:
            del self._there[key]


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
