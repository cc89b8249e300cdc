"""Codes of what ends, changes or stands in the way when a device plug-in is replaced by DRA."""

import re
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
    """Stable words of `-o json`, each with what it means and with a remedy."""

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
    GREATER_THAN_ONE_ALLOWED = "GreaterThanOneAllowed"
    EXTRA_MOUNTS = "ExtraMounts"
    IMEX = "Imex"
    CDI_NEEDED = "CdiNeeded"
    SPREADING = "Spreading"
    SELECTOR_LOST = "SelectorLost"
    MULTUS_ATTACHMENT = "MultusAttachment"
    LABEL_GONE = "LabelGone"
    TWO_CLASSES = "TwoClasses"
    KUEUE_KEY_CHANGES = "KueueKeyChanges"
    KUEUE_NOT_MAPPED = "KueueNotMapped"
    KUEUE_COUNTERS = "KueueCounters"
    KUEUE_CLAIM_REF = "KueueClaimRef"
    AUTOSCALER_WAITS = "AutoscalerWaits"
    PREEMPTION = "Preemption"
    NUMA_ALIGNMENT = "NumaAlignment"
    LINK_ALIGNMENT = "LinkAlignment"
    HEALTH_HANDLING = "HealthHandling"
    NODE_COUNTS = "NodeCounts"
    MONITORING_LABELS = "MonitoringLabels"
    TOLERATION_MISSING = "TolerationMissing"
    LIMIT_RANGE_INJECTS = "LimitRangeInjects"
    LIMIT_RANGE_IGNORED = "LimitRangeIgnored"
    QUOTA_UNCHARGED = "QuotaUncharged"
    ADMIN_ACCESS = "AdminAccess"
    UNKNOWN_RESOURCE = "UnknownResource"

    @property
    def meaning(self) -> str:
        """What it means, in a sentence or more."""
        return _TEXTS[self][0]

    @property
    def remedy(self) -> str:
        """What to do, in a clause."""
        return _TEXTS[self][1]


_TABLE = """
GateOff: DRAExtendedResource is off, or a kubelet is older than 1.36: no class serves extended
resources there.
> use claims in place of limits, or turn DRAExtendedResource on in API server, scheduler,
  controller-manager and kubelets, from 1.35 on
StaleCapacity: In Kubernetes 1.34 the mere key in status.allocatable keeps the class from serving
a node whose plug-in has ended.
> delete the Node object after the drain; the kubelet makes it again
NoClass: No DeviceClass names the resource, or the one that does selects GPUs where nodes count MIG
devices.
> kubectl dra migrate classes
NoDevices: The driver publishes devices on these nodes, and none that stands for the resource,
such as a GPU in MIG mode for nvidia.com/gpu.
> make the driver publish these devices, or keep the plug-in for them
TooManyDevices: A claim has at most 32 devices and 32 requests, and a pod has one claim for all of
its extended resources.
> use several pods, or several claims of at most 32 devices
SchedulerBypass: Only kube-scheduler makes the claim. A pod that names its node, or that the
kubelet reads from a file, starts without its device where the node lacks the resource.
> use nodeSelector kubernetes.io/hostname in place of nodeName
OtherScheduler: The pod's scheduler makes no claims for extended resources.
> keep these pods on nodes with the plug-in; --scheduler NAME says that a scheduler is
  kube-scheduler
BothSources: A node has the plug-in, and devices that the class selects: a device can be given to
two pods. `kubectl dra doctor` reports such a node as the error DoubleBooked.
> stop the DRA driver on that node until its plug-in is gone
ReplicasLost: The plug-in shares each device between several pods (time-slicing of NVIDIA,
-shared-dev-num of Intel, rdmaHcaMax of RDMA devices). With DRA one claim has a device alone.
> run fewer pods, partition devices (MIG), or let pods of a namespace share one claim
FractionOfDevice: The resource counts parts of devices, such as Neuron cores. The driver publishes
whole devices.
> ask for whole devices
MpsLost: The plug-in shares devices by MPS. The DRA driver shares them inside one claim only.
> share one claim with a config of type MPS, or keep the plug-in on these nodes
GreaterThanOneAllowed: The plug-in rejects pods that ask for more than one shared device
(failRequestsGreaterThanOne). With DRA such a pod gets as many devices as it asks for.
> limit what namespaces ask for by a ResourceQuota, or pods by a policy
ExtraMounts: The plug-in puts further device nodes into containers: GDRCopy, GPUDirect Storage or
MOFED. The driver puts in those of the devices alone.
> mount these device nodes in the pods, or keep the plug-in on these nodes
Imex: The plug-in puts IMEX channels into containers. With DRA a claim of a ComputeDomain does.
> use a ComputeDomain and its claim in pods of several nodes
CdiNeeded: The plug-in injects devices by environment variables, the driver by CDI alone:
container runtimes must have CDI on, and NVIDIA_VISIBLE_DEVICES is not set.
> turn CDI on in containerd (1.7 and newer) or CRI-O on all nodes
Spreading: The plug-in spreads pods over the devices that they share, or packs them. The scheduler
takes the first device that fits.
> use topology spread constraints, or devices that are not shared
SelectorLost: The SR-IOV device plug-in selects devices by fields that the driver lacks, or gives
pods something that the driver does not, such as devices of RDMA or vhost-net.
> select devices by vendors, devices, pfNames, pciAddresses or rootDevices, or by CEL
MultusAttachment: A NetworkAttachmentDefinition names the resource, by which Multus finds the
device that the kubelet gave to a pod. With DRA Multus has to read claims.
> use the driver's mode STANDALONE with netAttachDefName of VfConfig
LabelGone: The pod requires a node label that a companion of the plug-in writes, such as
gpu-feature-discovery.
> run the component that writes the label alone, or select devices by CEL
TwoClasses: Two classes name the resource and select different devices. Only the newest serves.
> delete extendedResourceName of all classes but one
KueueKeyChanges: Kueue charges what a class serves under the name that deviceClassMappings have
for the class, and a ClusterQueue that covers the resource does not cover that name.
> cover the mapped name in the ClusterQueue, or map the class to the resource's own name
KueueNotMapped: Kueue charges claims of mapped classes alone, and does not admit workloads with
others.
> map the class in deviceClassMappings of Kueue's configuration, and restart Kueue
KueueCounters: deviceClassMappings charge counters or capacities for the class, which Kueue does
not do for extended resources: it rejects such pods.
> map the class without sources, or use claims in place of limits
KueueClaimRef: Kueue charges claims of templates alone, and rejects pods that name a claim.
> use a ResourceClaimTemplate in place of the claim
AutoscalerWaits: The node autoscaler waits for status.allocatable of nodes, or does not know which
devices a new node would publish.
> set IGNORE_DRA_REQUESTS=false for Karpenter, give node groups of Cluster API that begin at zero
  the annotation dra-driver, or use claims in place of limits on these pools
Preemption: kube-scheduler does not preempt pods for devices of DRA.
> kubectl dra preempt
NumaAlignment: The kubelet's topology manager has no hints from DRA.
> use claims with matchAttribute on pcieRoot or numaNode of resource.kubernetes.io
LinkAlignment: The plug-in chooses devices that are linked well for pods with several. The
scheduler takes the first that fit.
> use claims with matchAttribute on pcieRoot or numaNode of resource.kubernetes.io
HealthHandling: The plug-in lowers status.allocatable for a sick device. Drivers taint it, or do
nothing unless their health checks are on.
> turn the driver's health checks on, or use device taints
NodeCounts: status.allocatable has none of the resource with DRA, nor have metrics made from it.
> count devices by ResourceSlices: kubectl dra top
MonitoringLabels: Something scales by metrics of dcgm-exporter, which finds pods by the plug-in's
devices unless it reads claims.
> set KUBERNETES_ENABLE_DRA of dcgm-exporter (kubernetesDRA.enabled in its chart)
TolerationMissing: Nodes carry a taint of the resource's name, and the pod does not tolerate it.
The admission plugin ExtendedResourceToleration adds the toleration for limits, never for claims.
> kubectl dra migrate convert writes the toleration
LimitRangeInjects: A LimitRange gives containers the resource by default: a converted pod would
ask for devices twice.
> delete the resource from default and defaultRequest of the LimitRange
LimitRangeIgnored: A LimitRange bounds the resource. Claims are not bounded by it.
> limit CLASS.deviceclass.resource.k8s.io/devices by a ResourceQuota
QuotaUncharged: A ResourceQuota limits requests.RESOURCE, and claims are not charged to it unless
a class names the resource and DRAExtendedResource is on.
> limit CLASS.deviceclass.resource.k8s.io/devices as well
AdminAccess: The resource gives access to devices that other pods use.
> use a claim with adminAccess: true, and label the namespace resource.kubernetes.io/admin-access:
  "true"
UnknownResource: No device is known that stands for the resource. It stays on its plug-in, which
is allowed: only one resource must not have two sources on a node.
> keep its plug-in, or name the class for it: --map RESOURCE=CLASS
"""
_ROW = re.compile(r"(?m)^(\w+): ((?:.|\n)+?)\n> (.*(?:\n  .*)*)")
_TEXTS = {
    found[1]: (found[2].replace("\n", " "), re.sub(r"\n +", " ", found[3]))
    for found in _ROW.finditer(_TABLE)
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
            "remedy": self.code.remedy,
            "docs": f"losses/{self.code}.md",
        }
