"""The findings controller: what `kubectl dra doctor` says, as metrics and Events.

Each pass lists the objects again instead of watching them: findings need whole nodes and slices,
which no other controller keeps, and ten minutes old answers are good enough.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from dragoman import metrics, surroundings
from dragoman.cluster.reader import Reader
from dragoman.controllers.context import Context
from dragoman.doctor.doctorfacts import DoctorFacts, Reading
from dragoman.doctor.examination import Diagnosis, examine
from dragoman.doctor.finding import Finding, Id, Severity
from dragoman.doctor.over_time import reading
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.profiles import server_profile
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.documents import KINDS, PLANNING, REGISTRATION
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.backoff import Backoff
from dragoman.kube.discovery import NotServedError
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.logs import logger
from dragoman.model.fields import part, parts

TICK = 1.0
"""Seconds between checks whether this process leads and a pass is due."""
REPEAT = 3600.0
"""Seconds after which the Event of a finding that persists is posted again: Events last an hour."""
EVENTS = 100
"""Events of one pass; the log and the metric count all findings."""
ACTION = "Examining"
RESOURCES = tuple(
    plural for plural in KINDS.values() if plural not in {"resourcequotas", *PLANNING}
)

log = logger("dragoman.findings")


class FindingsController:
    """Examines the cluster while this process leads.

    Args:
        context: Of the process.
        interval: Seconds between passes.
    """

    def __init__(self, context: Context, interval: float) -> None:
        self._context = context
        self._interval = interval
        self._ended = float("-inf")
        self._reported: dict[tuple[Id, str], float] = {}
        self._before: Reading | None = None

    async def run(self) -> None:
        """Examine the cluster whenever it is due, until cancelled."""
        backoff = Backoff()
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._examine_if_due()
                backoff = Backoff()
            except (ApiError, NotServedError) as error:
                delay = backoff.next(getattr(error, "retry_after", None))
                log.warning("Cannot look for findings", error=str(error), seconds=delay)
                await asyncio.sleep(delay)
            except Exception:  # a fault here must not end the claim controller
                log.exception("Cannot look for findings")
                await asyncio.sleep(backoff.next())

    async def _examine_if_due(self) -> None:
        if not self._context.leading():
            # The new leader counts from now on.
            metrics.FINDINGS.clear()
            self._ended = float("-inf")
            self._before = None
        elif surroundings.monotonic() - self._ended >= self._interval:
            await self._examine()
            self._ended = surroundings.monotonic()

    async def _examine(self) -> None:
        began = surroundings.monotonic()
        reader = Reader(self._context.client, "", wanted=concerns_devices)
        snapshot = await reader.read(RESOURCES)
        diagnosis, self._before = await surroundings.in_daemon_thread(
            diagnose, snapshot, self._before
        )
        if not self._context.leading():
            return
        _measure(diagnosis)
        posted = self._report(diagnosis.findings)
        log.info(
            "Checked the cluster",
            errors=diagnosis.count(Severity.ERROR),
            warnings=diagnosis.count(Severity.WARNING),
            infos=diagnosis.count(Severity.INFO),
            events=posted,
            unseen=sorted(one.plural for one in snapshot.unseen),
            seconds=round(surroundings.monotonic() - began, 3),
        )

    def _report(self, findings: Iterable[Finding]) -> int:
        """Post Events for errors and warnings that are new, or old enough to be repeated."""
        now = surroundings.monotonic()
        due = {
            (one.id, one.subject.text): one
            for one in findings
            if one.severity is not Severity.INFO and one.subject.uid
        }
        before = {key: then for key, then in self._reported.items() if key in due}
        new = [key for key in due if now - before.get(key, float("-inf")) >= REPEAT][:EVENTS]
        for key in new:
            self._post(due[key])
        self._reported = before | dict.fromkeys(new, now)
        return len(new)

    def _post(self, finding: Finding) -> None:
        subject = finding.subject
        self._context.recorder.warn(
            ObjectReference(
                subject.api_version, subject.kind, subject.namespace, subject.name, subject.uid
            ),
            reason=str(finding.id),
            action=ACTION,
            note=f"{finding.public or finding.message}; {finding.remedy}",
            subject=subject.text,
        )


def diagnose(snapshot: Snapshot, before: Reading | None = None) -> tuple[Diagnosis, Reading]:
    """Run all rules over a snapshot; return also what the next one is compared with."""
    world = parse(snapshot)
    facts = DoctorFacts(snapshot, take(world, server_profile(world)), before=before)
    return examine(facts), reading(facts)


def concerns_devices(plural: str, document: Mapping[str, Any]) -> bool:
    """Whether findings need an object: most pods of a cluster have nothing to do with devices."""
    if plural != "pods":
        return True
    spec = part(document, "spec")
    if spec.get("resourceClaims") or part(document, "status").get("extendedResourceClaimStatus"):
        return True
    paths = (part(one, "hostPath").get("path") for one in parts(spec, "volumes"))
    return any(REGISTRATION in str(path) for path in paths if path)


def _measure(diagnosis: Diagnosis) -> None:
    counts = diagnosis.counts()
    for key in Id:
        metrics.FINDINGS.labels(str(key)).set(counts[key])
    metrics.FINDINGS_TIME.set(surroundings.unix())
