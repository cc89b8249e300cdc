"""What the Eviction API answers for a pod, from its PodDisruptionBudgets, before it is asked.

Source: policy/v1 and kube-apiserver's `pods/eviction` (registry/core/pod/storage/eviction.go, the
same in 1.34 to 1.37): pending and ended pods are not protected, a pod that is not ready may be
exempt, two budgets of one pod are refused, and each eviction takes one disruption of its budget.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dragoman.inventory.snapshots.documents import Document
from dragoman.model.fields import items, mapping, optional_text, text
from dragoman.model.labels import LabelSelector
from dragoman_base.words import counted

ALWAYS_ALLOW = "AlwaysAllow"
_UNPROTECTED = frozenset({"Succeeded", "Failed", "Pending"})


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget."""

    namespace: str  # Of the budget and its pods
    name: str  # `metadata.name`.
    selector: LabelSelector | None  # `spec.selector`; None matches no pod.
    allowed: int = 0  # `status.disruptionsAllowed`.
    healthy: int = 0  # `status.currentHealthy`.
    desired: int = 0  # `status.desiredHealthy`.
    always: bool = False  # Whether `spec.unhealthyPodEvictionPolicy` is AlwaysAllow.
    current: bool = True  # Whether the status is about the newest spec
    # Names of pods whose eviction is counted in `allowed` already
    disrupted: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, document: Document) -> Self:
        """Read a PodDisruptionBudget; raise MalformedObjectError naming the field."""
        metadata = mapping(document, "metadata")
        spec, status = mapping(document, "spec"), mapping(document, "status")
        return cls(
            namespace=text(metadata, "namespace", "metadata."),
            name=text(metadata, "name", "metadata."),
            selector=None
            if spec.get("selector") is None
            else LabelSelector.parse(mapping(spec, "selector", "spec."), "spec.selector."),
            allowed=_number(status, "disruptionsAllowed"),
            healthy=_number(status, "currentHealthy"),
            desired=_number(status, "desiredHealthy"),
            always=spec.get("unhealthyPodEvictionPolicy") == ALWAYS_ALLOW,
            current=_number(status, "observedGeneration") >= _number(metadata, "generation"),
            disrupted=frozenset(mapping(status, "disruptedPods", "status.")),
        )


@dataclass(frozen=True, slots=True)
class Protected:
    """What of a pod decides about its eviction."""

    namespace: str  # Of the pod
    name: str  # Of the pod
    labels: Mapping[str, Any]  # `metadata.labels`.
    phase: str = ""  # `status.phase`.
    ready: bool = False  # Whether the condition Ready is True
    deleting: bool = False  # Whether the pod ends already
    grace: int = 30  # `spec.terminationGracePeriodSeconds`.

    @classmethod
    def parse(cls, document: Document) -> Self:
        """Read a Pod; raise MalformedObjectError naming the field."""
        metadata, status = mapping(document, "metadata"), mapping(document, "status")
        conditions = items(status, "conditions", "status.")
        return cls(
            namespace=text(metadata, "namespace", "metadata."),
            name=text(metadata, "name", "metadata."),
            labels=mapping(metadata, "labels", "metadata."),
            phase=optional_text(status, "phase", "status.") or "",
            ready=any(
                one.get("type") == "Ready" and one.get("status") == "True" for one in conditions
            ),
            deleting=metadata.get("deletionTimestamp") is not None,
            grace=_number(mapping(document, "spec"), "terminationGracePeriodSeconds", 30),
        )

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


def _number(document: Document, key: str, absent: int = 0) -> int:
    found = document.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else absent


def predict(pods: Iterable[Protected], budgets: Iterable[DisruptionBudget]) -> dict[str, str]:
    """Return why the Eviction API rejects each pod now, empty where it allows the eviction.

    Args:
        pods: In the order in which they are evicted: each takes one disruption of its budget.
        budgets: All of their namespaces.

    Returns:
        `namespace/name` of the pod to a clause such as `PodDisruptionBudget trainer allows 0
        disruptions now`.
    """
    listed = [*budgets]
    left = {(one.namespace, one.name): one.allowed for one in listed}
    return {pod.key: _refusal(pod, listed, left) for pod in pods}


def _refusal(
    pod: Protected, budgets: Iterable[DisruptionBudget], left: dict[tuple[str, str], int]
) -> str:
    if pod.deleting or pod.phase in _UNPROTECTED:
        return ""
    found = [
        one
        for one in budgets
        if one.namespace == pod.namespace
        and one.selector is not None
        and one.selector.matches(pod.labels)
    ]
    if not found:
        return ""
    if len(found) > 1:
        names = ", ".join(sorted(one.name for one in found))
        return f"the Eviction API rejects pods with several PodDisruptionBudgets: {names}"
    (budget,) = found
    if not pod.ready and (budget.always or budget.healthy >= budget.desired > 0):
        return ""
    if not budget.current:
        return f"PodDisruptionBudget {budget.name} is not processed yet"
    key = (budget.namespace, budget.name)
    if left[key] <= 0:
        count = max(budget.allowed, 0)
        only = "only " if count else ""
        return f"PodDisruptionBudget {budget.name} allows {only}{counted(count, 'disruption')} now"
    left[key] -= 1
    return ""
