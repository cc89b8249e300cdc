"""Runs the preemption controller as the settings say: with an account of its own in mode on."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from dragoman import metrics
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.controller import PreemptionController
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.controllers.process import Process, Run
from dragoman.kube.client import Client
from dragoman.kube.discovery import wait_optional
from dragoman.kube.events import EventRecorder, ObjectReference
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.preemption.policy import Policy, VictimChoice
from dragoman.preemption.stored import PreemptionLimits
from dragoman.settings import Settings

LEASE = "dragoman-operator"
"""What an Event about the operator regards."""

log = logger("dragoman.preemption")


async def start(process: Process) -> Run:
    """Let pods without a node be watched; each plan reads the rest of the cluster again."""
    settings, cluster = process.settings, process.cluster
    policy = Policy(
        settings.preemption_min_gap,
        settings.preemption_max_victims,
        VictimChoice(settings.preemption_select),
        (*settings.preemption_protected_namespaces, settings.namespace),
        settings.preemption_schedulers,
        max_grace=settings.preemption_max_grace,
    )
    cluster.require(cluster.pods)
    log.info("Planning which pods would have to end for others", mode=settings.preemption)
    return partial(_run, process, policy)


async def _run(process: Process, policy: Policy) -> None:
    """Run the controller until cancelled; in mode on once DeviceTaintRules are served."""
    context, settings = process.context, process.settings
    served, stored = process.cluster.served, process.cluster.waiting
    reporting = PreemptionController(
        context, policy, after=settings.preemption_after, stored=stored
    )
    if settings.preemption != "on":
        await reporting.run()
        return
    rules = await _rules(context.client, reporting)
    log.info("Preempting for devices", api_version=rules.api_version)
    async with context.client.acting_as(settings.preemption_account) as own:
        carrier = Carrier(
            own,
            served.claims,
            served.templates,
            rules,
            policy=lambda journal: preemptions.allowed(journal),  # noqa: PLW0108 — made below
            limits=_limits(settings),
            leading=context.leading,
            post=_poster(context.recorder),
            observe=_observe,
        )
        preemptions = Preemptions(own, carrier, policy)
        await PreemptionController(
            replace(context, client=own),
            policy,
            after=settings.preemption_after,
            stored=stored,
            preemptions=preemptions,
            stood_down=lambda pod: _say_stand_down(context.recorder, settings.namespace, pod),
        ).run()


async def _rules(client: Client, reporting: PreemptionController) -> Resource:
    """Return DeviceTaintRules; report plans until they are served."""
    running: asyncio.Task[None] | None = None

    def absent() -> None:
        nonlocal running
        if running is None:
            metrics.PREEMPTION_PAUSED.labels("rules").set(1)
            log.warning("Plans are only reported: DeviceTaintRules are not served")
            running = asyncio.create_task(reporting.run(), name="preemption reports")

    try:
        return await wait_optional(client, "devicetaintrules", absent)
    finally:
        metrics.PREEMPTION_PAUSED.labels("rules").set(0)
        if running is not None:
            running.cancel()


def _limits(settings: Settings) -> PreemptionLimits:
    return PreemptionLimits(
        parallel=settings.preemption_parallel,
        per_hour=settings.preemption_evictions_per_hour,
        per_namespace=settings.preemption_namespace_evictions,
        timeout=settings.preemption_timeout,
        release=settings.safe_release_grace if settings.safe_release else 0.0,
        max_grace=settings.preemption_max_grace,
        min_runtime=settings.preemption_min_runtime,
    )


def _poster(recorder: EventRecorder) -> Callable[[str, str, str, str, str], None]:
    def post(namespace: str, name: str, uid: str, reason: str, note: str) -> None:
        pod = ObjectReference("v1", "Pod", namespace, name, uid)
        recorder.post(pod, reason=reason, action="Preempting", note=note)

    return post


def _say_stand_down(recorder: EventRecorder, namespace: str, pod: str) -> None:
    lease = ObjectReference("coordination.k8s.io/v1", "Lease", namespace, LEASE, "")
    note = (
        f"kube-scheduler preempts for devices itself, for {pod} at least: "
        "plans are only reported for an hour."
    )
    recorder.warn(lease, reason="DevicePreemptionStandsDown", action="Preempting", note=note)


def _observe(kind: str, outcome: str) -> None:
    counter = metrics.PREEMPTION_PLANS if kind == "plans" else metrics.PREEMPTION_VICTIMS
    counter.labels(outcome).inc()
