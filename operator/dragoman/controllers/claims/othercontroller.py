"""What another claim controller does, as far as it shows in pods and claims."""

import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum

from dragoman import metrics
from dragoman.claims.mode import Activity, made_by_another
from dragoman.controllers.claims.state import ClusterState
from dragoman.model import Claim, Pod

FLAP_WINDOW = 60.0
"""Seconds within which a second loss of a valid binding counts as flapping."""
REMEMBERED = 1000


class Fault(StrEnum):
    """Known faults of the stock controller (explained in docs/reasons.md)."""

    FLAPPING = "ClaimStatusFlapping"
    FINISHED = "ClaimForFinishedPod"
    DUPLICATE = "DuplicateClaim"


Report = Callable[[Fault, Pod, str], None]
"""Called with a fault, the pod that it is about, and a sentence."""


class OtherController:
    """Looks at each change before it goes into the world; quiet until everything is listed.

    Args:
        world: What was known before the change.
        saw_another: Called with each sign of another controller.
        report: Called for each fault of it.
    """

    def __init__(
        self, state: ClusterState, other_seen: Callable[[Activity], None], report: Report
    ) -> None:
        self._state = state
        self._saw_another = other_seen
        self._report = report
        self._awake = False
        self._latest = ""
        self._lost: OrderedDict[str, float] = OrderedDict()

    def begin(self) -> None:
        """Begin: what was seen so far is the past."""
        self._awake = True

    def pod(self, pod: Pod) -> None:
        """Look at a pod that was added or changed."""
        known = self._state.pods.get(pod.metadata.namespace, pod.metadata.name)
        if pod.stock_stamp and pod.stock_stamp >= self._latest:
            news = known is None or known.stock_stamp != pod.stock_stamp
            if self._awake and (news or (known is not None and known.published != pod.published)):
                flaps = self._flaps(pod.metadata.uid)
                self._saw_another(Activity.FLAPPING if flaps else Activity.PROGRESS)
            self._latest = pod.stock_stamp
        if self._awake and known is not None and known.published != pod.published:
            self._look_for_flapping(known, pod)

    def claim(self, claim: Claim) -> None:
        """Look at a claim that was added or changed."""
        metadata = claim.metadata
        if not self._awake or self._state.claims.get(metadata.namespace, metadata.name) is not None:
            return
        if not made_by_another(claim):
            return
        self._saw_another(Activity.PROGRESS)
        owner = metadata.owner
        pod = self._state.pods.get(metadata.namespace, owner.name) if owner is not None else None
        if owner is None or pod is None or pod.metadata.uid != owner.uid:
            return
        if pod.done:
            note = f'resource claim "{metadata.name}" was made for the pod after it had finished'
            self._tell(Fault.FINISHED, pod, note)
        twins = [
            twin.metadata.name
            for twin in self._state.claims.find("owner", owner.uid)
            if twin.entry == claim.entry and not twin.metadata.deleting
        ]
        if twins:
            note = (
                f'entry {claim.entry} has the resource claims "{twins[0]}" and "{metadata.name}": '
                "two controllers made one each"
            )
            self._tell(Fault.DUPLICATE, pod, note)

    def _look_for_flapping(self, known: Pod, pod: Pod) -> None:
        claims = self._state.claims.namespace(pod.metadata.namespace)
        uid = pod.metadata.uid
        if known.metadata.uid != uid:
            return
        for entry, name in known.published.items():
            claim = claims.get(name) if name is not None else None
            if claim is None or not claim.is_for(uid) or pod.published.get(entry) == name:
                continue
            if self._flaps(uid):
                note = f"another controller keeps removing valid claims from the status: {entry}"
                self._tell(Fault.FLAPPING, pod, note)
            self._lost[uid] = time.monotonic()
            self._lost.move_to_end(uid)
            if len(self._lost) > REMEMBERED:
                self._lost.popitem(last=False)

    def _flaps(self, uid: str) -> bool:
        return time.monotonic() - self._lost.get(uid, float("-inf")) < FLAP_WINDOW

    def _tell(self, fault: Fault, pod: Pod, note: str) -> None:
        metrics.FAULTS.labels(fault.value).inc()
        self._report(fault, pod, note)
