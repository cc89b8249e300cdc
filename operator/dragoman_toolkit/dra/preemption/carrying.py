"""One preemption that a command carries out itself, with its user's rights, or stops."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from dragoman import logs
from dragoman.cli.terminal import say
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.preemptions import Preemptions, take_over
from dragoman.kube.discovery import DRA_GROUP, OPTIONAL_VERSIONS, discover, find_resource
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import DEVICEPREEMPTIONS
from dragoman.preemption.policy import Policy
from dragoman.preemption.stored import DEFAULT_LIMITS, ENDED, Journal, Phase
from dragoman_toolkit.dra.cluster import rights
from dragoman_toolkit.dra.output import Unusable

if TYPE_CHECKING:
    from dragoman.allocation import DeviceID
    from dragoman.kube.client import Client
    from dragoman.preemption.planner import PreemptionPlan

STEP = 0.5
"""Seconds between two steps."""
ABORTING = 15.0
"""Seconds in which a stopped preemption is cleaned up."""
REFUSED = 3
"""Exit status of a plan that was refused, or did not lead to a place."""
_SAID: Mapping[Phase, str] = {
    Phase.RESERVING: "Reserving devices",
    Phase.EVICTING: "Evicting pods",
    Phase.PLACING: "Waiting for kube-scheduler to place the pod",
}


@dataclass(slots=True)
class Carrying:
    """Begins a preemption, or goes on with one that is there."""

    namespace: str  # Of the pod
    pod: str  # Its name
    policy: Policy  # Whose pods may end
    # What to begin with; None to go on with what is there, or to stop it
    plan: PreemptionPlan | None = None
    reserved: Sequence[DeviceID] = ()  # Devices of the plan
    # UIDs of preemptions that had reserved before it was computed
    known: frozenset[str] = frozenset()
    _said: str = field(default="")

    async def run(self, client: Client) -> Journal:
        """Carry it out; return how it ended.

        Raises:
            Unusable: It cannot begin; the message names what is missing.
        """
        # Steps are logged; by default that would go to standard output.
        logs.configure(json=False, level="ERROR")
        preemptions = await self._preemptions(client)
        found = self._own(preemptions)
        if found is None:
            await self._begin(preemptions, client)
        while True:
            await preemptions.refresh()
            found = self._own(preemptions)
            if found is None:
                raise Unusable("the preemption was stopped: its DevicePreemption is deleted")
            if found.phase in ENDED and not found.finalized:
                return found
            self._say(_SAID.get(found.phase, "") + (f": {found.message}" * bool(found.message)))
            await preemptions.advance_one(found)
            await asyncio.sleep(STEP)

    async def abort(self, client: Client) -> int:
        """Stop it, and release its devices; return how many preemptions there were."""
        logs.configure(json=False, level="ERROR")
        preemptions = await self._preemptions(client)
        own = [one for one in preemptions.journals if one.key == f"{self.namespace}/{self.pod}"]
        active = {one.uid: one for one in own if one.active}
        for one in active.values():
            path = DEVICEPREEMPTIONS.path(one.namespace, one.name)
            await client.delete(path, {"preconditions": {"uid": one.uid}})
        async with asyncio.timeout(ABORTING):
            while True:
                await preemptions.refresh()
                left = [one for one in preemptions.journals if one.uid in active]
                if not left:
                    return len(active)
                for one in left:
                    await preemptions.advance_one(one)
                await asyncio.sleep(STEP)

    async def active(self, client: Client) -> bool:
        """Whether a preemption for the pod is under way; False where none can be."""
        try:
            preemptions = await self._preemptions(client)
        except Unusable:
            return False
        self.known = preemptions.budget.reserved
        return self._own(preemptions) is not None

    async def _preemptions(self, client: Client) -> Preemptions:
        served = await discover(client, "off")
        rules = await find_resource(client, DRA_GROUP, OPTIONAL_VERSIONS, "devicetaintrules")
        if rules is None:
            raise Unusable(
                "the API server does not serve DeviceTaintRules, by which devices are reserved: "
                "they need Kubernetes 1.37, or the feature gate DRADeviceTaintRules and "
                "--runtime-config=resource.k8s.io/v1beta2=true; --dry-run prints the plan"
            )
        carrier = Carrier(
            client,
            served.claims,
            served.templates,
            rules,
            policy=lambda journal: found.allowed(journal),  # noqa: PLW0108 — made below
            limits=DEFAULT_LIMITS,
        )
        found = Preemptions(client, carrier, self.policy)
        try:
            await found.refresh()
        except ApiError as error:
            if error.code != 404:
                raise
            raise Unusable(
                "the API server does not serve DevicePreemptions, which record a preemption: "
                "install the chart with preemption.mode=on or report, or apply "
                "crds/devicepreemptions.yaml; --dry-run prints the plan"
            ) from error
        return found

    async def _begin(self, preemptions: Preemptions, client: Client) -> None:
        plan = self.plan
        if plan is None:
            raise Unusable("no preemption for the pod is under way")
        await rights.require(client, rights.preempting(self.namespace))
        why = preemptions.limited(plan, self.known) or await preemptions.obstacle(
            plan, self.reserved
        )
        if not why:
            uid = plan.subject.pod.pod.metadata.uid
            await take_over(preemptions.carrier, self.namespace, uid)
            why = await preemptions.begin(plan, self.reserved)
        if why:
            raise Unusable(f"{why[:1].lower()}{why[1:]}")

    def _own(self, preemptions: Preemptions) -> Journal | None:
        """Return the newest preemption for the pod, while it is under way or just ended here."""
        key = f"{self.namespace}/{self.pod}"
        own = [one for one in preemptions.journals if one.key == key]
        found = max(own, key=lambda one: one.attempt, default=None)
        if found is None or (not self._said and not found.active):
            return None
        return found

    def _say(self, text: str) -> None:
        if text and text != self._said:
            self._said = text
            say(text)


def ask(question: str, *, yes: bool) -> None:
    """Ask before pods end; raise Unusable where there is no terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Unusable(f"{question} Confirm with --yes, or see --dry-run")
    click.confirm(question, abort=True, err=True)
