"""Which devices of a DRA driver stand for an extended resource of a device plug-in.

Sources: the plug-ins' and drivers' own documentation, as named at each row. A resource without a
row stays on its plug-in, which is allowed: only one resource must not have two sources on a node.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum


class Exactness(StrEnum):
    """Whether a class gives pods what the plug-in gave them."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    LOST = "lost"
    NONE = "none"
    """No device stands for it."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The devices that stand for a resource."""

    driver: str = ""  # That publishes them; empty where no driver does
    condition: str = ""  # CEL that selects them among the driver's devices; empty for all of them
    exact: Exactness = Exactness.EXACT
    loss: str = ""  # Code of `losses` for what no device stands for; empty where one does
    given: tuple[str, ...] = ()  # Selectors of the class that a user names for it

    @property
    def known(self) -> bool:
        """Whether devices stand for it."""
        exact = self.exact in (Exactness.EXACT, Exactness.APPROXIMATE)
        return exact and bool(self.driver or self.given)

    @property
    def selectors(self) -> tuple[str, ...]:
        """The selectors of a class; the driver's name guards attributes that others lack."""
        guard = f"device.driver == '{self.driver}'"
        return self.given or (f"{guard} && {self.condition}" if self.condition else guard,)


NVIDIA, AMD, INTEL = "gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
EKS_EFA, DRANET = "efa.networking.k8s.aws", "dra.net"
UNKNOWN = Counterpart(exact=Exactness.NONE, loss="UnknownResource")
_MIG = re.compile(r"mig-(?P<profile>\d+g\.\d+gb)(?P<extra>\.[a-z0-9.]+)?")
_PARTITION = re.compile(r"(?:spx|dpx|qpx|cpx)_nps[1248]")
SHARED = ".shared"
"""What NVIDIA's plug-in appends with `renameByDefault`."""


@dataclass(frozen=True, slots=True)
class Around:
    """Facts of the cluster that a counterpart depends on."""

    mig_single: bool = False  # Whether nodes have NVIDIA's `migStrategy: single`
    partitioned: bool = False  # Whether AMD's devices are partitioned
    drivers: Collection[str] = frozenset()  # That publish slices
    # Values of the attribute `resourceName` of SR-IOV devices, and resources of their plug-in
    sriov: Collection[str] = frozenset()
    shared: Collection[str] = frozenset()  # Resources by which any number of pods use RDMA devices


def counterpart(resource: str, around: Around = Around()) -> Counterpart:
    """Return the devices that stand for an extended resource."""
    prefix, _, name = resource.partition("/")
    if name in around.sriov or resource in around.sriov:
        return _sriov(name)
    if resource in around.shared:
        return _rdma(name, around)
    find = _BY_PREFIX.get(prefix)
    return find(name.removesuffix(SHARED), around) if find else UNKNOWN


def _attribute(driver: str, name: str) -> str:
    return f"device.attributes['{driver}'].{name}"


def _guarded(driver: str, name: str, value: str) -> str:
    """Return a comparison that is false, not an error, on devices without the attribute."""
    return f"'{name}' in device.attributes['{driver}'] && {_attribute(driver, name)} == '{value}'"


def _nvidia(name: str, around: Around) -> Counterpart:
    # dra-driver-nvidia-gpu publishes `type` of every device, and `profile` of MIG devices.
    kind = _attribute(NVIDIA, "type")
    if found := _MIG.fullmatch(name):
        # The plug-in writes the `+` of `1g.10gb+me` as a dot.
        extra = (found["extra"] or "").replace(".", "+")
        profile = f"{_attribute(NVIDIA, 'profile')} == '{found['profile']}{extra}'"
        return Counterpart(NVIDIA, f"{kind} == 'mig' && {profile}")
    if name != "gpu":
        return UNKNOWN
    if around.mig_single:
        return Counterpart(NVIDIA, f"({kind} == 'gpu' || {kind} == 'mig')")
    return Counterpart(NVIDIA, f"{kind} == 'gpu'")


def _amd(name: str, around: Around) -> Counterpart:
    # ROCm/k8s-device-plugin `resource_naming_strategy`; k8s-gpu-dra-driver `partitionProfile`.
    if _PARTITION.fullmatch(name):
        whole = f"{_attribute(AMD, 'type')} == 'amdgpu' && " if name == "spx_nps1" else ""
        return Counterpart(AMD, whole + _guarded(AMD, "partitionProfile", name))
    if name != "gpu":
        return UNKNOWN
    return Counterpart(AMD, "" if around.partitioned else _guarded(AMD, "type", "amdgpu"))


def _intel_gpu(name: str, _: Around) -> Counterpart:
    # intel-device-plugins-for-kubernetes cmd/gpu_plugin; intel-resource-drivers-for-kubernetes.
    if name.endswith("_monitoring"):
        return Counterpart(INTEL, exact=Exactness.NONE, loss="AdminAccess")
    return (
        Counterpart(INTEL, _guarded(INTEL, "driver", name)) if name in ("i915", "xe") else UNKNOWN
    )


def _gaudi(name: str, _: Around) -> Counterpart:
    return Counterpart("gaudi.intel.com") if name == "gaudi" else UNKNOWN


def _neuron(name: str, _: Around) -> Counterpart:
    # A core is no device: the driver publishes whole Neuron devices.
    if name == "neuroncore":
        return Counterpart("neuron.aws.com", exact=Exactness.NONE, loss="FractionOfDevice")
    return Counterpart("neuron.aws.com") if name in ("neuron", "neurondevice") else UNKNOWN


def _tpu(name: str, _: Around) -> Counterpart:
    return Counterpart("tpu.google.com") if name == "tpu" else UNKNOWN


def _efa(name: str, around: Around) -> Counterpart:
    if name != "efa":
        return UNKNOWN
    if EKS_EFA in around.drivers:
        return Counterpart(EKS_EFA)
    amazon = _guarded(DRANET, "pciVendor", "Amazon.com, Inc.")
    rdma = f"'rdma' in device.attributes['{DRANET}'] && {_attribute(DRANET, 'rdma')}"
    return Counterpart(DRANET, f"{rdma} && {amazon}")


def _rdma(_: str, __: Around) -> Counterpart:
    # Any number of pods share an HCA (k8s-rdma-shared-dev-plugin); DRANET gives it to one.
    return Counterpart(DRANET, exact=Exactness.LOST, loss="ReplicasLost")


def _sriov(name: str) -> Counterpart:
    return Counterpart(SRIOV, _guarded("k8s.cni.cncf.io", "resourceName", name))


_BY_PREFIX: dict[str, Callable[[str, Around], Counterpart]] = {
    "nvidia.com": _nvidia,
    "amd.com": _amd,
    "gpu.intel.com": _intel_gpu,
    "habana.ai": _gaudi,
    "aws.amazon.com": _neuron,
    "google.com": _tpu,
    "vpc.amazonaws.com": _efa,
    "rdma": _rdma,
}
