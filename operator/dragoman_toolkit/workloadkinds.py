"""Kinds that make pods, as users type them.

Kinds of Kubernetes and of well-known operators; most make other objects, such as
ReplicaSets, that own the pods: their names, or labels of the pods, lead back.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_HASH = "[a-z0-9]{1,10}"
"""Ends of the names of ReplicaSets, and of objects with generated names."""


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind that makes pods."""

    kind: str  # As in manifests
    group: str  # API group; empty for core kinds
    versions: tuple[str, ...]  # Of the API, the best first
    short: tuple[str, ...] = ()  # Names beside the singular and the plural
    # What owns the pods for it: a kind, and what follows the workload's name in the object's name
    through: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()  # Of the pods; their value is the name of the workload

    @property
    def name(self) -> str:
        """The singular, as kubectl has it; Volcano's Job has a name of its own here."""
        return self.short[0] if self.group == "batch.volcano.sh" else self.kind.lower()

    @property
    def plural(self) -> str:
        """The resource."""
        return f"{self.kind.lower()}s"

    @property
    def spellings(self) -> tuple[str, ...]:
        """What users type for it."""
        if self.group == "batch.volcano.sh":
            return self.short
        return (self.plural, *self.short)


TRAINING = ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
"""Jobs of Kubeflow's training operator."""


def _training(kind: str) -> WorkloadKind:
    """Return a kind of Kubeflow's training operator, whose pods it owns itself, or by a Job."""
    labels = ("training.kubeflow.org/job-name",)
    return WorkloadKind(kind, "kubeflow.org", ("v1", "v2beta1"), labels=labels)


_REPLICAS = (("ReplicaSet", f"-{_HASH}"),)
_RAY = "ray.io/originated-from-cr-name"
KINDS: Mapping[str, WorkloadKind] = {
    one.name: one
    for one in (
        WorkloadKind("Deployment", "apps", ("v1",), ("deploy",), _REPLICAS),
        WorkloadKind("StatefulSet", "apps", ("v1",), ("sts",)),
        WorkloadKind("DaemonSet", "apps", ("v1",), ("ds",)),
        WorkloadKind("ReplicaSet", "apps", ("v1",), ("rs",)),
        WorkloadKind("ReplicationController", "", ("v1",), ("rc",)),
        WorkloadKind("Job", "batch", ("v1",)),
        WorkloadKind("CronJob", "batch", ("v1",), ("cj",), (("Job", r"-\d{6,10}"),)),
        WorkloadKind(
            *("JobSet", "jobset.x-k8s.io", ("v1alpha2",), ("js",)),
            labels=("jobset.sigs.k8s.io/jobset-name",),
        ),
        WorkloadKind(
            *("LeaderWorkerSet", "leaderworkerset.x-k8s.io", ("v1",), ("lws",)),
            through=(("StatefulSet", r"(-\d+)?"),),
            labels=("leaderworkerset.sigs.k8s.io/name",),
        ),
        WorkloadKind("RayCluster", "ray.io", ("v1",), labels=("ray.io/cluster",)),
        WorkloadKind(
            *("RayJob", "ray.io", ("v1",), (), (("RayCluster", f"(-raycluster)?-{_HASH}"),)),
            labels=(_RAY,),
        ),
        WorkloadKind(
            *("RayService", "ray.io", ("v1",), (), (("RayCluster", f"(-raycluster)?-{_HASH}"),)),
            labels=(_RAY,),
        ),
        *map(_training, TRAINING),
        WorkloadKind(
            *("TrainJob", "trainer.kubeflow.org", ("v1alpha1",)),
            labels=("jobset.sigs.k8s.io/jobset-name",),
        ),
        WorkloadKind(
            *("InferenceService", "serving.kserve.io", ("v1beta1",), ("isvc",)),
            labels=("serving.kserve.io/inferenceservice",),
        ),
        WorkloadKind(
            *("LLMInferenceService", "serving.kserve.io", ("v1alpha2", "v1alpha1"), ("llmisvc",)),
            through=(("ReplicaSet", f"-kserve.*-{_HASH}"), ("StatefulSet", "-kserve.*")),
        ),
        WorkloadKind(
            *("VirtualMachine", "kubevirt.io", ("v1",), ("vm",)),
            through=(("VirtualMachineInstance", ""),),
        ),
        WorkloadKind("VirtualMachineInstance", "kubevirt.io", ("v1",), ("vmi",)),
        WorkloadKind("Workload", "kueue.x-k8s.io", ("v1beta2", "v1beta1"), ("wl",)),
        WorkloadKind("PodGroup", "scheduling.k8s.io", ("v1alpha2", "v1alpha1"), ("pg",)),
        WorkloadKind("Job", "batch.volcano.sh", ("v1alpha1",), ("vcjob", "vj")),
        WorkloadKind("Rollout", "argoproj.io", ("v1alpha1",), ("ro",), _REPLICAS),
    )
}
"""Workloads by the singular of their kind."""
