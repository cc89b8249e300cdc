"""Activity and faults of another claim controller, as pods and claims show them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman import metrics, surroundings
from dragoman.claims.mode import Activity, made_by_another
from dragoman.cluster.clusterstate import ClusterState
from dragoman.kube.recent import Recent
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod

FLAP_WINDOW = 60.0
"""Seconds within which a second loss of a valid binding counts as flapping."""
REMEMBERED = 1000
"""How many namespaces, and how many pods, are remembered."""


class ControllerFault(StrEnum):
    """Known faults of the stock controller (explained in docs/reasons.md)."""

    FLAPPING = "ClaimStatusFlapping"
    FINISHED = "ClaimForFinishedPod"
    DUPLICATE = "DuplicateClaim"


Report = Callable[[ControllerFault, Pod, str], None]
"""Called with a fault, the pod that it concerns, and a sentence."""
ActivitySeen = Callable[[Activity], None]


@dataclass
class OtherController:
    """Observes another claim controller: each change of a pod or claim."""

    state: ClusterState  # What is stored
    other_seen: ActivitySeen  # Called with each activity of another controller
    report: Report  # Called for each fault of it
    _observing: bool = False
    _latest: Recent[str, str] = field(default_factory=lambda: Recent(REMEMBERED))
    _lost: Recent[str, float] = field(default_factory=lambda: Recent(REMEMBERED))

    def begin(self) -> None:
        """Observe from now on: what the first lists had is the past."""
        self._observing = True

    def pod(self, known: Pod | None, pod: Pod) -> None:
        """Observe a pod that was added or changed.

        Args:
            known: As it was before; None where it is new.
            pod: As it is stored now.
        """
        metadata = pod.metadata
        changed = known is not None and known.published != pod.published
        # A stamp older than the namespace's latest belongs to a pod that is only seen late.
        if pod.stock_stamp and pod.stock_stamp >= self._latest.get(metadata.namespace, ""):
            is_new = known is None or known.stock_stamp != pod.stock_stamp
            if self._observing and (is_new or changed):
                self._seen(pod, flapping=self._flaps(metadata.uid))
            self._latest[metadata.namespace] = pod.stock_stamp
        if self._observing and known is not None and changed:
            self._check_flapping(known, pod)

    def claim(self, known: Claim | None, claim: Claim) -> None:
        """Observe a claim that was added or changed.

        Args:
            known: As it was before; None where it is new.
            claim: As it is stored now.
        """
        metadata = claim.metadata
        if not self._observing or known is not None or not made_by_another(claim):
            return
        owner = metadata.owner
        assert owner is not None, "it names whom the claim was made for"
        pod = self.state.pods.get(metadata.namespace, owner.name)
        if pod is None or pod.metadata.uid != owner.uid:
            # The age of its pod is unknown: it may be older than every need.
            self.other_seen(Activity(metadata.namespace, ""))
            return
        self._seen(pod)
        if pod.done:
            note = f'resource claim "{metadata.name}" was made for the pod after it had finished'
            self._tell(ControllerFault.FINISHED, pod, note)
        self._check_duplicate(claim, pod)

    def _seen(self, pod: Pod, *, flapping: bool = False) -> None:
        metadata = pod.metadata
        self.other_seen(Activity(metadata.namespace, metadata.created, flapping))

    def _check_duplicate(self, claim: Claim, pod: Pod) -> None:
        place = (pod.metadata.namespace, pod.metadata.uid, claim.entry)
        found = self.state.claims.find("twin", place)
        twins = [
            twin.metadata.name
            for twin in found
            if twin.metadata.uid != claim.metadata.uid and not twin.metadata.deleting
        ]
        if twins:
            note = (
                f'entry {claim.entry} has the resource claims "{twins[0]}" and '
                f'"{claim.metadata.name}": two controllers made one each'
            )
            self._tell(ControllerFault.DUPLICATE, pod, note)

    def _check_flapping(self, known: Pod, pod: Pod) -> None:
        claims = self.state.claims.namespace(pod.metadata.namespace)
        uid = pod.metadata.uid
        if known.metadata.uid != uid:
            return
        for entry, name in known.published.items():
            claim = claims.get(name) if name is not None else None
            if claim is None or not claim.is_for(uid) or pod.published.get(entry) == name:
                continue
            if self._flaps(uid):
                note = f"another controller keeps removing valid claims from the status: {entry}"
                self._tell(ControllerFault.FLAPPING, pod, note)
            self._lost[uid] = surroundings.monotonic()

    def _flaps(self, uid: str) -> bool:
        return surroundings.monotonic() - self._lost.get(uid, float("-inf")) < FLAP_WINDOW

    def _tell(self, fault: ControllerFault, pod: Pod, note: str) -> None:
        metrics.FAULTS.labels(fault.value).inc()
        self.report(fault, pod, note)
