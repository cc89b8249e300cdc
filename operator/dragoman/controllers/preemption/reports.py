"""DevicePreemptions of mode Report: which pods would have to end, and the Event beside it."""

from collections.abc import Mapping
from typing import Any

from dragoman import surroundings
from dragoman.controllers.context import Context
from dragoman.controllers.preemption.carrier import unless_gone
from dragoman.controllers.preemption.preemptions import REFUSED
from dragoman.kube.client import MERGE_PATCH, items
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.kube.resources import DEVICEPREEMPTIONS
from dragoman.preemption import journal
from dragoman.preemption.planner import PreemptionPlan
from dragoman.preemption.stored import REPORT, mode_of

REASON = "DevicePreemptionPlanned"


class Reports:
    """Writes reports; objects of mode Preempt are a record of evictions, and no concern of it.

    Args:
        context: Of the process.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._said: dict[str, str] = {}

    async def write(
        self, chosen: Mapping[str, PreemptionPlan], held: Mapping[str, str]
    ) -> list[ApiError]:
        """Make the reports those of these plans; return what refused single ones.

        Args:
            chosen: By the UID of the pod.
            held: Why nothing is evicted, by the UID of the pod; absent where the mode says it.
        """
        kept = await self.clear(chosen)
        errors = [
            await self._written(plan, kept.get(uid), held.get(uid, ""))
            for uid, plan in chosen.items()
        ]
        return [one for one in errors if one is not None]

    async def clear(self, chosen: Mapping[str, PreemptionPlan]) -> dict[str, Mapping[str, Any]]:
        """Delete reports of pods without a plan; return the others by name."""
        kept: dict[str, Mapping[str, Any]] = {}
        async for item in items(self._context.client, DEVICEPREEMPTIONS.path()):
            metadata = item["metadata"]
            if mode_of(item) != REPORT:
                continue
            if _is_of(item, chosen.get(metadata["name"])):
                kept[metadata["name"]] = item
                continue
            await self._delete(metadata)
        self._said = {uid: note for uid, note in self._said.items() if uid in chosen}
        return kept

    async def _delete(self, metadata: Mapping[str, Any]) -> None:
        path = DEVICEPREEMPTIONS.path(metadata["namespace"], metadata["name"])
        options = {"preconditions": {"uid": metadata["uid"]}}
        await unless_gone(self._context.writing.delete(path, options))

    async def _written(
        self, plan: PreemptionPlan, before: Mapping[str, Any] | None, held: str
    ) -> ApiError | None:
        """Write one report; return what refuses it and no other one."""
        try:
            await self._write(plan, before, held)
        except ApiError as error:
            if error.code not in REFUSED:
                raise
            return error
        return None

    async def _write(
        self, plan: PreemptionPlan, before: Mapping[str, Any] | None, held: str
    ) -> None:
        """Create or update the object of a plan; post an Event where the plan is another one."""
        made, status = journal.document(plan), journal.status(plan, held)
        metadata = made["metadata"]
        path = DEVICEPREEMPTIONS.path(metadata["namespace"])
        one = f"{path}/{metadata['name']}"
        if before is None:
            if not await unless_gone(self._context.writing.post(path, made)):
                return  # another process has begun a preemption under this name
        elif before.get("spec") != made["spec"]:
            await unless_gone(self._context.writing.patch(one, {"spec": made["spec"]}, MERGE_PATCH))
        told = {key: (before or {}).get("status", {}).get(key) for key in status}
        if told != status:
            body = {"status": {**status, "plannedAt": surroundings.timestamp()}}
            await unless_gone(self._context.writing.patch(f"{one}/status", body, MERGE_PATCH))
        note, uid = status["message"], metadata["name"]
        if told["message"] != note and self._said.get(uid) != note:
            self._said[uid] = note
            pod = plan.subject.pod.pod.metadata
            regarding = ObjectReference("v1", "Pod", pod.namespace, pod.name, pod.uid)
            self._context.recorder.post(regarding, reason=REASON, action="Preempting", note=note)


def _is_of(item: Mapping[str, Any], plan: PreemptionPlan | None) -> bool:
    """Whether an object is the one of a plan; its name alone may be forged."""
    if plan is None:
        return False
    pod = plan.subject.pod.pod.metadata
    named = ((item.get("spec") or {}).get("pod") or {}).get("uid")
    return (item["metadata"].get("namespace"), named) == (pod.namespace, pod.uid)
