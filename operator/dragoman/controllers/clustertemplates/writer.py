"""Writes copies of ClusterResourceClaimTemplates; each response goes into the store at once."""

import re
from typing import Any

from dragoman.claims.clustertemplates.copies import MadeSpecs, copy_document
from dragoman.controllers.context import Context
from dragoman.kube.client import find
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import CLUSTERTEMPLATES
from dragoman.logs import logger
from dragoman.model.clustertemplate import ClusterTemplate
from dragoman.model.template import Template

NO_DRY_RUN = "does not support dry run"
"""In the API server's message where an admission webhook has side effects."""

GENERATED_BASE = 58
"""Characters of a generated name before its random ones (API: names.SimpleNameGenerator)."""
GENERATED = "[a-z0-9]{5}"
"""The random characters of a generated name."""

log = logger("dragoman.clustertemplates")


class CopyWriter:
    """The one place that writes copies.

    Args:
        context: Of the process.
        templates: Where responses go.
        objects: Of ClusterResourceClaimTemplates.

    Attributes:
        made: What the API server makes of templates.
    """

    def __init__(
        self,
        context: Context,
        templates: Informer[Template],
        objects: Informer[ClusterTemplate],
    ) -> None:
        self._context = context
        self._client = context.client
        self._templates = templates
        self._objects = objects
        self.made = MadeSpecs()

    async def create(self, template: ClusterTemplate, namespace: str) -> None:
        """Create a copy; raise ApiError.

        A template that exists after all is read into the store, so that the next attempt sees it.
        """
        self._context.require_leading()
        resource = self._templates.resource
        document = copy_document(template, namespace, resource.api_version)
        try:
            created = await self._client.post(resource.path(namespace), document, strict=True)
        except ApiError as error:
            if error.code == 409:
                await self._templates.refresh(namespace, template.metadata.name)
            raise
        copy = Template.parse(created)
        self.made.learn(template, copy)
        self._templates.changed(copy)
        log.info("Copied template", namespace=namespace, name=template.metadata.name)

    async def replace(self, template: ClusterTemplate, stored: Template) -> None:
        """Replace a template by the current copy; raise ApiError.

        The spec of a template is immutable, so that a change is a deletion and a creation. A dry
        run comes first: a template that the API server would refuse never costs the old one.
        """
        namespace = stored.metadata.namespace
        await self.try_creation(template, namespace)
        await self.delete(stored)
        await self.create(template, namespace)

    async def try_creation(self, template: ClusterTemplate, namespace: str) -> None:
        """Learn by a dry run what the API server makes of a template; raise ApiError.

        It teaches nothing where a webhook has side effects.
        """
        resource = self._templates.resource
        document = copy_document(template, namespace, resource.api_version)
        # The stored template has the name: the dry run takes a generated one.
        name = document["metadata"].pop("name")
        document["metadata"]["generateName"] = f"{name}-"
        try:
            tried = await self._client.post(
                resource.path(namespace), document, dry_run=True, strict=True
            )
        except ApiError as error:
            if NO_DRY_RUN not in str(error):
                raise _about(name, error) from error
        else:
            self.made.learn(template, Template.parse(tried))

    async def delete(self, stored: Template) -> None:
        """Delete a template, and only the one with this UID; raise ApiError."""
        self._context.require_leading()
        metadata = stored.metadata
        path = self._templates.resource.path(metadata.namespace, metadata.name)
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": metadata.uid},
        }
        try:
            answer = await self._client.delete(path, options)
        except ApiError as error:
            if error.code not in {404, 409} or not await self._templates.outdated(stored):
                raise
            return
        if (answer.get("metadata") or {}).get("finalizers"):
            await self._templates.refresh(metadata.namespace, metadata.name)
            return
        self._templates.deleted(stored)
        log.info("Deleted copy", namespace=metadata.namespace, name=metadata.name)

    async def exists(self, name: str) -> bool:
        """Whether the API server has a ClusterResourceClaimTemplate; raise ApiError."""
        return await find(self._client, CLUSTERTEMPLATES.path(name=name)) is not None

    async def write_status(self, template: ClusterTemplate, status: dict[str, Any]) -> None:
        """Write a status, unless the object is another or has changed by now; raise ApiError.

        The change enqueues the status again.
        """
        self._context.require_leading()
        await self._objects.patch_status(template, status)


def _about(name: str, error: ApiError) -> ApiError:
    """Return an error about a copy in place of one about its generated name.

    A message with another name after each attempt would be another status, and another Event.
    """
    generated = re.escape(f"{name}-"[:GENERATED_BASE]) + GENERATED
    message = re.sub(rf"(?<![a-z0-9.-]){generated}(?![a-z0-9.-])", name, str(error))
    return ApiError(error.code, error.reason, message, error.details, error.retry_after)
