"""Codes of what ends, changes or stands in the way when a device plug-in is replaced by DRA."""

from dataclasses import dataclass
from enum import StrEnum


class Rank(StrEnum):
    """How much a loss matters, from the worst on."""

    BLOCKS = "blocks"
    """Pods do not run, or run without their device."""
    BREAKS = "breaks"
    """A behavior that users rely on ends."""
    CHANGES = "changes"
    """Numbers and names change."""
    NOTE = "note"


class Code(StrEnum):
    """Stable words of `-o json`."""

    GATE_OFF = "GateOff"
    STALE_CAPACITY = "StaleCapacity"
    NO_CLASS = "NoClass"
    NO_DEVICES = "NoDevices"
    TOO_MANY_DEVICES = "TooManyDevices"
    SCHEDULER_BYPASS = "SchedulerBypass"
    OTHER_SCHEDULER = "OtherScheduler"
    BOTH_SOURCES = "BothSources"
    REPLICAS_LOST = "ReplicasLost"
    FRACTION_OF_DEVICE = "FractionOfDevice"
    MPS_LOST = "MpsLost"
    LABEL_GONE = "LabelGone"
    TWO_CLASSES = "TwoClasses"
    PREEMPTION = "Preemption"
    NUMA_ALIGNMENT = "NumaAlignment"
    LINK_ALIGNMENT = "LinkAlignment"
    HEALTH_HANDLING = "HealthHandling"
    NODE_COUNTS = "NodeCounts"
    ADMIN_ACCESS = "AdminAccess"
    UNKNOWN_RESOURCE = "UnknownResource"


_ALIGNED = "use claims with matchAttribute on pcieRoot or numaNode of resource.kubernetes.io"
REMEDIES = {
    Code.GATE_OFF: "use claims in place of limits, or turn DRAExtendedResource on in API server, "
    "scheduler, controller-manager and kubelets, from 1.35 on",
    Code.STALE_CAPACITY: "delete the Node object after the drain; the kubelet makes it again",
    Code.NO_CLASS: "kubectl dra migrate classes",
    Code.NO_DEVICES: "make the driver publish these devices, or keep the plug-in for them",
    Code.TOO_MANY_DEVICES: "use several pods, or several claims of at most 32 devices",
    Code.SCHEDULER_BYPASS: "use nodeSelector kubernetes.io/hostname in place of nodeName",
    Code.OTHER_SCHEDULER: "keep these pods on nodes with the plug-in; --scheduler NAME says that a "
    "scheduler is kube-scheduler",
    Code.BOTH_SOURCES: "stop the DRA driver on that node until its plug-in is gone",
    Code.REPLICAS_LOST: "run fewer pods, partition devices (MIG), or let pods of a namespace share "
    "one claim",
    Code.FRACTION_OF_DEVICE: "ask for whole devices",
    Code.MPS_LOST: "share one claim with a config of type MPS, or keep the plug-in on these nodes",
    Code.LABEL_GONE: "run the component that writes the label alone, or select devices by CEL",
    Code.TWO_CLASSES: "delete extendedResourceName of all classes but one",
    Code.PREEMPTION: "kubectl dra preempt",
    Code.NUMA_ALIGNMENT: _ALIGNED,
    Code.LINK_ALIGNMENT: _ALIGNED,
    Code.HEALTH_HANDLING: "turn the driver's health checks on, or use device taints",
    Code.NODE_COUNTS: "count devices by ResourceSlices: kubectl dra top",
    Code.ADMIN_ACCESS: "use a claim with adminAccess: true, and label the namespace "
    'resource.kubernetes.io/admin-access: "true"',
    Code.UNKNOWN_RESOURCE: "keep its plug-in, or name the class for it: --map RESOURCE=CLASS",
}
SOLVED_BY_OUTPUT = frozenset({Code.NO_CLASS, Code.GATE_OFF})
"""What the classes or claims that `kubectl dra migrate` prints solve."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss, of a resource or of a workload."""

    code: Code
    rank: Rank
    subject: str  # The node, workload or label that it concerns
    text: str  # A sentence without a period at its end

    def as_json(self) -> dict[str, str]:
        """Return its fields, with the remedy and the page that says more."""
        return {
            "code": self.code,
            "rank": self.rank,
            "subject": self.subject,
            "text": self.text,
            "remedy": REMEDIES[self.code],
            "docs": f"migrate.md#{self.code.lower()}",
        }
