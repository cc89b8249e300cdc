"""Events about claims whose pods are evicted too early, or again and again."""

from dragoman import metrics
from dragoman.controllers.context import Context
from dragoman.controllers.evictions.evictionstate import EvictionState
from dragoman.evictions.evictionfacts import Due
from dragoman.evictions.faults import NOTES, EvictionFault, late_claims, stock_faults
from dragoman.evictions.pods import used_claims
from dragoman.kube.events import ObjectReference
from dragoman.kube.resources import Resource
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman_base.versions import Release


class FaultReporter:
    """Reports faults of the stock controller, and evictions that repeat.

    Args:
        context: Of the process.
        state: What is known.
        resource: The served version of resourceclaims.
        stock: The release of the stock controller where that evicts.
    """

    def __init__(
        self, context: Context, state: EvictionState, resource: Resource, stock: Release | None
    ) -> None:
        self._context = context
        self._state = state
        self._resource = resource
        self._stock = stock

    def claim(self, claim: Claim) -> None:
        """Report that the stock controller does not honour a claim's tolerations."""
        if self._stock is not None and claim.devices:
            pools, rules = self._state.pools, self._state.rules
            for fault in stock_faults(claim, pools, rules, self._stock):
                self._report(claim, fault, NOTES[fault])

    def evicted(self, pod: Pod, due: Due) -> None:
        """Report claims whose next pods will be evicted as well."""
        groups = self._state.cluster.groups_served
        used = used_claims(pod, self._state.claim, groups=groups)
        for claim, note in late_claims(pod, due, used):
            self._report(claim, EvictionFault.TAINTED, note)

    def _report(self, claim: Claim, fault: EvictionFault, note: str) -> None:
        if not self._context.leading():
            return
        if self._stock is not None:
            metrics.FAULTS.labels(fault.value).inc()
        metadata = claim.metadata
        version, place = self._resource.api_version, (metadata.namespace, metadata.name)
        regarding = ObjectReference(version, "ResourceClaim", *place, metadata.uid)
        self._context.recorder.warn(regarding, reason=fault.value, action="Evicting", note=note)
