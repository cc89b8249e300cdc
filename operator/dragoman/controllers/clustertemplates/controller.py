"""The ClusterResourceClaimTemplate controller: keeps one copy in each selected namespace."""

import asyncio
import contextlib
from collections import Counter
from typing import Literal, NamedTuple

from dragoman import metrics, surroundings
from dragoman.claims.clustertemplates.copies import CopyState, copy_state
from dragoman.claims.clustertemplates.status import DISTRIBUTED, DISTRIBUTING, status
from dragoman.controllers.clustertemplates.writer import CopyWriter
from dragoman.controllers.context import Context
from dragoman.kube.controller import Controller
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.kube.informer import Informer
from dragoman.kube.resources import CLUSTERTEMPLATES, NAMESPACES
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.model.clustertemplate import API_VERSION, KIND, ClusterTemplate, Namespace, is_copy
from dragoman.model.template import Template

STATUS_DELAY = 0.3
"""Seconds between a change and the status: copies change in hundreds."""
REFUSALS: frozenset[int] = frozenset({400, 403, 422})
"""HTTP statuses of a creation that the API server's rules refuse."""
COPY, OBJECT = "copy", "object"
"""Lanes of the queue: keys of copies, and keys of objects."""
ATTEMPTS = 3
"""Namespaces in which a dry run is tried before each copy is verified on its own."""
NAMESPACES_AT_ONCE = 256
"""Namespaces that are looked at before other tasks have their turn."""
WEBHOOK = ' webhook "'
"""In the API server's message where a webhook denies an object, with any status, or fails."""

log = logger("dragoman.clustertemplates")


class TemplateKey(NamedTuple):
    """What a worker reconciles: one copy, or all copies or the status of an object."""

    task: Literal["copy", "all", "status"]  # `all` enqueues the copies that need a write
    name: str  # Of the ClusterResourceClaimTemplate
    namespace: str = ""  # Of the copy


class ClusterTemplateController:
    """Copies ClusterResourceClaimTemplates into namespaces.

    Args:
        context: Of the process.
        templates: The informer of ResourceClaimTemplates, which the claim controller shares.
        workers: How many copies are written at the same time.
        resync: Seconds between full passes.

    Attributes:
        informers: Of the objects and of namespaces, which only this controller reads.
        queue: The keys that wait for a worker.
    """

    def __init__(
        self,
        context: Context,
        templates: Informer[Template],
        *,
        workers: int = 16,
        resync: float = 600.0,
    ) -> None:
        self._templates = templates
        self._refusals: dict[str, dict[str, str]] = {}
        self._context = context
        self.queue: WorkQueue[TemplateKey] = WorkQueue(
            "clustertemplates",
            lambda key: COPY if key.task == "copy" else OBJECT,
            namespace=lambda key: key.namespace,
            share=max(1, workers // 2),
        )
        client = context.client
        objects = Informer(client, CLUSTERTEMPLATES, ClusterTemplate.parse, [self._object_changed])
        namespaces = Informer(client, NAMESPACES, Namespace.parse, [self._namespace_changed])
        self.informers = (objects, namespaces)
        self._writer = CopyWriter(context, templates, objects)
        self._objects, self._namespaces = objects.store, namespaces.store
        templates.observe(self._template_changed)
        self._controller = Controller(
            self.queue,
            self.reconcile,
            self.enqueue_all,
            lanes=(COPY, OBJECT),
            workers=workers,
            resync=resync,
            describe=TemplateKey._asdict,
        )

    async def run(self) -> None:
        """Reconcile until cancelled, once everything is listed.

        A copy is deleted where its object is not stored: incomplete lists must not look like that.
        """
        await asyncio.gather(*(one.synced.wait() for one in (*self.informers, self._templates)))
        await self._controller.run()

    def enqueue_all(self) -> None:
        """Enqueue every object, and every copy that is stored."""
        for one in self._objects:
            self._enqueue(one.metadata.name)
        for template in self._templates.store:
            self._template_changed(None, template)

    async def reconcile(self, key: TemplateKey) -> None:
        """Write a copy or a status; raise ApiError where the key must be retried."""
        if not self._context.leading():
            # The leader counts the copies; here they would stay as they were.
            metrics.cluster_template_copies(key.name, {})
            return
        match key.task:
            case "status":
                await self._write_status(key.name)
            case "all":
                await self._enqueue_copies(key.name)
            case "copy":
                await self._settle(key)
        self.queue.forget(key)

    async def _settle(self, key: TemplateKey) -> None:
        """Bring the copy of one namespace up to date."""
        wanted = self._objects.get("", key.name)
        state, stored = self._state(key.name, key.namespace)
        refusals = self._refusals.setdefault(key.name, {})
        try:
            if state is CopyState.MISSING and wanted is not None:
                await self._writer.create(wanted, key.namespace)
            elif state is CopyState.UNVERIFIED and wanted is not None and stored is not None:
                await self._verify(wanted, stored)
            elif state is CopyState.OUTDATED and wanted is not None and stored is not None:
                await self._writer.replace(wanted, stored)
            elif (
                state is CopyState.UNWANTED
                and stored is not None
                # An object that cannot be parsed is not stored, and exists all the same.
                and (wanted is not None or not await self._writer.exists(key.name))
            ):
                await self._writer.delete(stored)
        except ApiError as error:
            if error.code in REFUSALS or WEBHOOK in str(error):
                refusals[key.namespace] = str(error)
            raise
        else:
            refusals.pop(key.namespace, None)
        finally:
            self.queue.add_after(TemplateKey("status", key.name), STATUS_DELAY)

    async def _verify(self, wanted: ClusterTemplate, stored: Template) -> None:
        """Replace what has the annotation of a copy, unless a dry run yields the same spec."""
        namespace = stored.metadata.namespace
        await self._writer.try_creation(wanted, namespace)
        if stored.content not in self._writer.made.of(wanted, namespace):
            await self._writer.delete(stored)
            await self._writer.create(wanted, namespace)

    def _state(self, name: str, namespace: str) -> tuple[CopyState, Template | None]:
        stored = self._templates.store.get(namespace, name)
        place = self._namespaces.get("", namespace)
        wanted = self._objects.get("", name)
        return copy_state(wanted, place, stored, self._writer.made.of(wanted, namespace)), stored

    async def _states(self, name: str) -> dict[str, CopyState]:
        """Return the state of each namespace's copy; what changes by then enqueues its key."""
        states = {}
        for index, one in enumerate(self._namespaces):
            if index % NAMESPACES_AT_ONCE == 0:
                await asyncio.sleep(0)
            states[one.metadata.name] = self._state(name, one.metadata.name)[0]
        return states

    async def _verified_states(self, name: str) -> dict[str, CopyState]:
        """Return all states; one dry run verifies most copies, as after a start."""
        states = await self._states(name)
        template = self._objects.get("", name)
        unverified = [place for place, state in states.items() if state is CopyState.UNVERIFIED]
        if template is None or not unverified or self._writer.made.of(template, ""):
            return states
        for namespace in unverified[:ATTEMPTS]:
            with contextlib.suppress(ApiError):  # a quota may refuse it: each copy has its own turn
                await self._writer.try_creation(template, namespace)
                break
        return await self._states(name)

    async def _write_status(self, name: str) -> None:
        template = self._objects.get("", name)
        if template is None or template.metadata.deleting:
            metrics.cluster_template_copies(name, {})
            self._refusals.pop(name, None)
            self._writer.made.forget(name)
            return
        states = await self._verified_states(name)
        refusals = self._refusals.get(name, {})
        metrics.cluster_template_copies(name, Counter(state.value for state in states.values()))
        now = surroundings.timestamp()
        wanted = status(template, states, refusals, now)
        self._report(template, wanted["conditions"][0])
        if any(template.status.get(field) != value for field, value in wanted.items()):
            await self._writer.write_status(template, wanted)

    def _report(self, template: ClusterTemplate, ready: dict[str, str]) -> None:
        """Post an Event about a conflict or a refusal: both wait for people."""
        if ready["reason"] in {DISTRIBUTED, DISTRIBUTING}:
            return
        metadata = template.metadata
        self._context.recorder.warn(
            ObjectReference(API_VERSION, KIND, "", metadata.name, metadata.uid),
            reason=ready["reason"],
            action="CopyingTemplate",
            note=ready["message"],
        )

    def _enqueue(self, name: str) -> None:
        """Enqueue an object: the copies that need a write, and its status."""
        self.queue.add(TemplateKey("all", name))
        self.queue.add_after(TemplateKey("status", name), STATUS_DELAY)

    async def _enqueue_copies(self, name: str) -> None:
        idle = {CopyState.CURRENT, CopyState.NOTHING, CopyState.CONFLICT, CopyState.LEAVING}
        for namespace, state in (await self._verified_states(name)).items():
            if state not in idle:
                self.queue.add(TemplateKey("copy", name, namespace))

    def _object_changed(self, old: ClusterTemplate | None, new: ClusterTemplate | None) -> None:
        if old is None or new is None or old.wish != new.wish:
            self._enqueue(_name(old, new))
        else:  # a status, as our own: it must not end the back-off of refused copies
            self.queue.add_after(TemplateKey("status", new.metadata.name), STATUS_DELAY)

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        place = _name(old, new)
        if new is None:
            self._writer.made.forget_namespace(place)
            for name, refusals in self._refusals.items():
                refusals.pop(place, None)
                self.queue.add_after(TemplateKey("status", name), STATUS_DELAY)
        elif old is None or (old.labels, old.terminating) != (new.labels, new.terminating):
            for one in self._objects:
                name = one.metadata.name
                if (
                    one.selects(new)
                    or (old is not None and one.selects(old))
                    or self._templates.store.get(place, name) is not None
                ):
                    self.queue.add(TemplateKey("copy", name, place))

    def _template_changed(self, old: Template | None, new: Template | None) -> None:
        """Enqueue a template that is a copy, or has the name of one."""
        template = new or old
        assert template is not None
        metadata = template.metadata
        if is_copy(metadata) or self._objects.get("", metadata.name) is not None:
            self.queue.add(TemplateKey("copy", metadata.name, metadata.namespace))


def _name(old: ClusterTemplate | Namespace | None, new: ClusterTemplate | Namespace | None) -> str:
    found = new or old
    assert found is not None
    return found.metadata.name
