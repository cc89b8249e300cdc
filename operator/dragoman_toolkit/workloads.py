"""The pods that workloads make: where each kind has the spec of its pods, and how many run at once.

Kinds of Kubernetes and of well-known operators are known by group and kind; in all others, a pod
spec is found by its shape. Every command that reads manifests finds pods here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman_toolkit.workloadkinds import TRAINING

Tree = Mapping[str, Any]
Steps = tuple[str | int, ...]

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
OF_NETWORK = re.compile(r"net|nic\b|nic-|rdma|roce|sriov|sr-iov|cni|dpdk|eth\d", re.IGNORECASE)
"""Devices that a driver puts into the pod's network namespace; no container needs to name them."""
_DEVICES = ("gpus", "hostDevices")
"""Where a virtual machine of KubeVirt names the requests of its claims."""
SCHEMAS = ("CustomResourceDefinition", "ConfigMap", "Secret")
"""Kinds that may hold the text or the schema of pods, but no pods."""
_PARTS = re.compile(
    r"builtin/.*|(helm|fleet)\.cattle\.io/.*|(helm|kustomize)\.toolkit\.fluxcd\.io/.*"
    r"|kustomize\.config\.k8s\.io/.*|(policies\.)?kyverno\.io/.*|\w+\.gatekeeper\.sh/.*"
    r"|(admissionregistration|admission)\.k8s\.io/.*|apiextensions\.crossplane\.io/.*"
    r"|argoproj\.io/Application(Set)?|trainer\.kubeflow\.org/TrainJob"
)
"""Groups, and kinds of some, with values of charts, patterns and patches: parts of pods alone."""


@dataclass(frozen=True, slots=True)
class PodSpec:
    """Pods that an object is or makes from one spec."""

    steps: Steps  # Where the spec stands
    spec: dict[str, Any]  # Its fields
    copies: int | None  # How many pods may run with it at once; None where that is not known
    role: str = ""  # What the workload calls them, such as `worker`; empty where all are alike
    labels: Tree | None = None  # Of the pods

    def containers(self) -> Iterator[tuple[Steps, dict[str, Any]]]:
        """Yield every container with its path; KServe has one beside the fields of the spec."""
        for name in CONTAINERS:
            for index, container in enumerate(sequence(self.spec.get(name))):
                yield (*self.steps, name, index), mapping(container)
        for name in _inlined(self.spec):
            yield (*self.steps, name), self.spec[name]

    def uses(self) -> Iterator[tuple[Steps, list[Any]]]:
        """Yield `resources.claims` of every container with its path."""
        for steps, container in self.containers():
            yield (
                (*steps, "resources", "claims"),
                sequence(reach(container, ("resources", "claims"))),
            )
        for name in _DEVICES:
            path = ("domain", "devices", name)
            found = [
                {"name": one.get("claimName"), "request": one.get("requestName")}
                for one in map(mapping, sequence(reach(self.spec, path)))
                if "claimName" in one
            ]
            if found:
                yield (*self.steps, *path), found

    def plain(self) -> dict[str, Any]:
        """Return the spec with all of its containers under `containers`, as its controller does.

        Sources: KServe merges `model` and `worker` into a container; KubeVirt starts each virtual
        machine in a pod with one container, which gets its claims.
        """
        spec = {name: value for name, value in self.spec.items() if name != "domain"}
        containers = [*sequence(spec.get("containers"))]
        containers += [{"name": name, **spec.pop(name)} for name in _inlined(self.spec)]
        if isinstance(self.spec.get("domain"), dict):
            claims = [one for _, found in self.uses() for one in found]
            containers.append({"name": "compute", "resources": _machine(self.spec, claims)})
        return {**spec, "containers": containers} if containers else spec


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that is a pod or makes pods."""

    kind: str  # Such as `Job`
    group: str  # API group; empty for core kinds
    namespace: str  # Empty where the manifest leaves it to the client
    name: str  # Empty where there is none
    pods: tuple[PodSpec, ...]  # At least one
    # How many sets of pods there are that are of use only together; 0 where each pod is alone
    gangs: int = 0
    suspended: bool = False  # Whether its controller makes no pods yet
    least: int = 0  # Pods that a gang needs at once; 0 for all of them
    labels: Tree | None = None  # Of the object

    def title(self, namespace: str) -> str:
        """Return kind, namespace and name.

        Args:
            namespace: Of an object that names none.
        """
        return f"{self.kind} {self.namespace or namespace}/{self.name}"


def workload(tree: Tree) -> Workload | None:
    """Return an object with its pods; None where it has none."""
    version = str(tree.get("apiVersion") or "")
    group, kind = _kind_of(tree)
    known = _KINDS.get((group, kind))
    found = tuple(known.find(tree) if known else () if _in_parts(version, kind) else shaped(tree))
    if not found:
        return None
    metadata = mapping(tree.get("metadata"))
    spec = mapping(tree.get("spec"))
    return Workload(
        kind,
        group,
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or metadata.get("generateName") or ""),
        found,
        known.gangs(spec) if known else _grouped(found),
        bool(spec.get("suspend")),
        _number(spec, "minAvailable", 0) if group == "batch.volcano.sh" else 0,
        mapping(metadata.get("labels")),
    )


def _kind_of(tree: Tree) -> tuple[str, str]:
    return str(tree.get("apiVersion") or "").rpartition("/")[0], str(tree.get("kind") or "")


def _in_parts(version: str, kind: str) -> bool:
    group = version.rpartition("/")[0] or version
    return kind in SCHEMAS or _PARTS.fullmatch(f"{group}/{kind}") is not None


def shaped(tree: Any) -> Iterator[PodSpec]:
    """Yield what has containers and claims as the spec of a pod has, wherever it stands."""
    everywhere = isinstance(tree, dict) and str(tree.get("kind")).endswith("DaemonSet")
    stack: list[tuple[Steps, Any, int]] = [((), tree, 1)]
    while stack:
        steps, value, copies = stack.pop()
        if isinstance(value, list):
            stack += [((*steps, index), one, copies) for index, one in enumerate(value)]
        elif isinstance(value, dict):
            whole = steps and "apiVersion" in value and value.get("spec")  # no mere reference
            known = _KINDS.get(_kind_of(value)) if whole else None
            found = PodSpec(steps, value, None if everywhere else copies)
            if known:
                for one in known.find(value):  # a manifest within another one
                    yield replace(one, steps=(*steps, *one.steps))
            elif _is_spec(found):
                yield found
            else:
                here = _number(value, "replicas", copies)
                stack += [((*steps, name), one, here) for name, one in value.items()]


def _is_spec(pods: PodSpec) -> bool:
    uses = any(found for _, found in pods.uses())
    if isinstance(pods.spec.get("containers"), list):
        return "resourceClaims" in pods.spec or uses
    return uses and isinstance(pods.spec.get("resourceClaims"), list)


def _inlined(spec: Tree) -> list[str]:
    """Name the fields of a spec that are one container each: `model` of KServe, for instance."""
    return [
        name
        for name, value in spec.items()
        if name not in ("domain", "resources", *CONTAINERS)
        and isinstance(value, dict)
        and isinstance(value.get("resources"), dict)
    ]


def _machine(spec: Tree, claims: list[Any]) -> dict[str, Any]:
    """Return the resources of the container that runs a virtual machine, as far as it says them."""
    resources = mapping(reach(spec, ("domain", "resources")))
    guest = reach(spec, ("domain", "memory", "guest"))
    requests = {**({"memory": guest} if guest else {}), **mapping(resources.get("requests"))}
    limits = mapping(resources.get("limits"))
    return {"requests": requests, "limits": limits, "claims": claims}


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind makes pods."""

    find: Callable[[Tree], Iterator[PodSpec]]
    gangs: Callable[[Tree], int] = lambda spec: 0  # noqa: ARG005 — each pod is alone


def _one(_: Tree) -> int:
    return 1


def _template(tree: Tree, steps: Steps, copies: int | None, role: str = "") -> Iterator[PodSpec]:
    """Yield the pods of a template that stands at a path; nothing where there is none."""
    found = mapping(reach(tree, steps))
    if found:
        labels = mapping(reach(found, ("metadata", "labels")))
        yield PodSpec((*steps, "spec"), mapping(found.get("spec")), copies, role, labels)


def _spec(
    *steps: str, count: str | None = "replicas", template: bool = True
) -> Callable[[Tree], Iterator[PodSpec]]:
    """Return a finder of kinds with one template, or one spec, at a fixed path.

    Args:
        steps: The path.
        count: The field of `spec` that counts pods; None where it is not known how many there are.
        template: Whether labels stand beside the spec.
    """

    def find(tree: Tree) -> Iterator[PodSpec]:
        copies = None if count is None else _number(mapping(tree.get("spec")), count, 1)
        if template:
            yield from _template(tree, steps, copies)
        else:
            labels = mapping(reach(tree, ("metadata", "labels")))
            yield PodSpec(steps, mapping(reach(tree, steps)), copies, labels=labels)

    return find


def _job(*steps: str) -> Callable[[Tree], Iterator[PodSpec]]:
    def find(tree: Tree) -> Iterator[PodSpec]:
        spec = mapping(reach(tree, (*steps, "spec")))
        yield from _template(tree, (*steps, "spec", "template"), _at_once(spec))

    return find


def _at_once(spec: Tree) -> int:
    """Return how many pods of a Job run at a time."""
    most = _number(spec, "parallelism", 1)
    return min(most, _number(spec, "completions", most))


def _job_set(tree: Tree) -> Iterator[PodSpec]:
    for index, one in enumerate(sequence(reach(tree, ("spec", "replicatedJobs")))):
        steps: Steps = ("spec", "replicatedJobs", index, "template", "spec")
        copies = _number(mapping(one), "replicas", 1) * _at_once(mapping(reach(tree, steps)))
        yield from _template(
            tree, (*steps, "template"), copies, str(mapping(one).get("name") or "")
        )


def _leader_workers(tree: Tree) -> Iterator[PodSpec]:
    spec = mapping(tree.get("spec"))
    size = _number(mapping(spec.get("leaderWorkerTemplate")), "size", 1)
    groups = _number(spec, "replicas", 1)
    steps: Steps = ("spec", "leaderWorkerTemplate")
    leaders = tuple(_template(tree, (*steps, "leaderTemplate"), groups, "leader"))
    yield from leaders
    workers = groups * (size - 1 if leaders else size)
    if workers:
        yield from _template(tree, (*steps, "workerTemplate"), workers, "worker")


def _ray(*steps: str) -> Callable[[Tree], Iterator[PodSpec]]:
    def find(tree: Tree) -> Iterator[PodSpec]:
        yield from _template(tree, (*steps, "headGroupSpec", "template"), 1, "head")
        for index, one in enumerate(sequence(reach(tree, (*steps, "workerGroupSpecs")))):
            group = mapping(one)
            replicas = _number(group, "replicas", _number(group, "minReplicas", 0))
            copies = replicas * _number(group, "numOfHosts", 1)
            place: Steps = (*steps, "workerGroupSpecs", index, "template")
            yield from _template(tree, place, copies, str(group.get("groupName") or "worker"))

    return find


def _roles(tree: Tree) -> Iterator[PodSpec]:
    """Yield the pods of a job of Kubeflow: `pytorchReplicaSpecs` and the like, by role."""
    for field, roles in mapping(tree.get("spec")).items():
        if field.endswith("ReplicaSpecs"):
            for role, one in mapping(roles).items():
                copies = _number(mapping(one), "replicas", 1)
                yield from _template(tree, ("spec", field, role, "template"), copies, role.lower())


def _listed(field: str, count: str) -> Callable[[Tree], Iterator[PodSpec]]:
    """Return a finder of kinds with a list of templates, each with its number."""

    def find(tree: Tree) -> Iterator[PodSpec]:
        for index, one in enumerate(sequence(reach(tree, ("spec", field)))):
            group = mapping(one)
            role = str(group.get("name") or "")
            place: Steps = ("spec", field, index, "template")
            yield from _template(tree, place, _number(group, count, 1), role)

    return find


def _inference(tree: Tree) -> Iterator[PodSpec]:
    for role in ("predictor", "transformer", "explainer"):
        spec = mapping(reach(tree, ("spec", role)))
        if spec:
            yield PodSpec(("spec", role), spec, max(_number(spec, "minReplicas", 1), 1), role)
        worker = mapping(spec.get("workerSpec"))
        if worker:
            # vLLM over several nodes: the predictor is one more of its size.
            copies = max(_number(worker, "pipelineParallelSize", 2) - 1, 1)
            yield PodSpec(("spec", role, "workerSpec"), worker, copies, f"{role}-worker")


def _llm_inference(tree: Tree) -> Iterator[PodSpec]:
    for steps in (("spec",), ("spec", "prefill")):
        holder = mapping(reach(tree, steps))
        copies = _number(holder, "replicas", 1)
        for field in ("template", "worker"):
            if isinstance(holder.get(field), dict):
                role = "-".join((*steps[1:], field))
                yield PodSpec((*steps, field), holder[field], copies, role)


_RAY_KINDS = {"RayCluster": (), "RayJob": ("rayClusterSpec",), "RayService": ("rayClusterConfig",)}
_KINDS: Mapping[tuple[str, str], _Kind] = {
    ("", "Pod"): _Kind(_spec("spec", count="-", template=False)),
    ("", "PodTemplate"): _Kind(_spec("template", count="-")),
    ("", "ReplicationController"): _Kind(_spec("spec", "template")),
    ("apps", "ReplicaSet"): _Kind(_spec("spec", "template")),
    ("apps", "Deployment"): _Kind(_spec("spec", "template")),
    ("apps", "StatefulSet"): _Kind(_spec("spec", "template")),
    ("apps", "DaemonSet"): _Kind(_spec("spec", "template", count=None)),
    ("batch", "Job"): _Kind(_job()),
    ("batch", "CronJob"): _Kind(_job("spec", "jobTemplate")),
    ("jobset.x-k8s.io", "JobSet"): _Kind(_job_set, _one),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _Kind(
        _leader_workers, lambda spec: _number(spec, "replicas", 1)
    ),
    **{("ray.io", kind): _Kind(_ray("spec", *path), _one) for kind, path in _RAY_KINDS.items()},
    **{("kubeflow.org", kind): _Kind(_roles, _one) for kind in TRAINING},
    ("serving.kserve.io", "InferenceService"): _Kind(_inference),
    ("serving.kserve.io", "LLMInferenceService"): _Kind(_llm_inference),
    ("kubevirt.io", "VirtualMachine"): _Kind(_spec("spec", "template", count="-")),
    ("kubevirt.io", "VirtualMachineInstance"): _Kind(_spec("spec", count="-", template=False)),
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet"): _Kind(_spec("spec", "template")),
    ("pool.kubevirt.io", "VirtualMachinePool"): _Kind(
        _spec("spec", "virtualMachineTemplate", "spec", "template")
    ),
    ("kueue.x-k8s.io", "Workload"): _Kind(_listed("podSets", "count"), _one),
    ("batch.volcano.sh", "Job"): _Kind(_listed("tasks", "replicas"), _one),
    ("argoproj.io", "Rollout"): _Kind(_spec("spec", "template")),
    ("serving.knative.dev", "Service"): _Kind(_spec("spec", "template", count="-")),
}
"""Kinds that are known; `-` counts one pod."""


def is_known(group: str, kind: str) -> bool:
    """Whether a kind makes pods in places that are known."""
    return (group, kind) in _KINDS


def _grouped(pods: tuple[PodSpec, ...]) -> int:
    """Return 1 where the pods themselves say that they are of one PodGroup."""
    return int(any(mapping(one.spec.get("schedulingGroup")) for one in pods))


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def reach(value: Any, steps: Steps) -> Any:
    """Follow a path; None where it ends early."""
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _number(holder: Tree, field: str, default: int) -> int:
    value = holder.get(field)
    return value if type(value) is int and value >= 0 else default
