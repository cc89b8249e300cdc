"""What Kubernetes' own tests of DRA need, by their version."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of one minor version.

    Attributes:
        gates: Feature gates that are off by default, for specs of the control plane.
        node_gates: Further ones, for specs whose pods run.
        served: API versions that are off by default, for specs of the control plane.
        node_served: Further ones, for specs whose pods run.
        shell: The tag of the busybox image.
        proxy: The tag of the image that joins sockets.
        plugin: The tag of the device plugin's image.
    """

    gates: tuple[str, ...] = ()
    node_gates: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    node_served: tuple[str, ...] = ()
    shell: str = "1.37.0-1"
    proxy: str = "v1.17.1"
    plugin: str = "1.7"


ALPHA = "resource.k8s.io/v1alpha3"
BETA = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2")
NEEDS = {
    "v1.36": Needs(
        gates=("DRAResourcePoolStatus", "GenericWorkload"),
        node_gates=("DRADeviceTaintRules", "DRAWorkloadResourceClaims"),
        served=(ALPHA, "scheduling.k8s.io/v1alpha2"),
        node_served=BETA,
    ),
    "v1.37": Needs(
        gates=("DRAPartitionableDevicesType", "DRAResourcePoolStatus", "GenericWorkload"),
        node_gates=(
            "DRADeviceCompatibilityGroups",
            "DRAOptionalNodeOperations",
            "DRAWorkloadResourceClaims",
        ),
        served=(ALPHA, "scheduling.k8s.io/v1beta1"),
        node_served=BETA,
        shell="1.37.0-2",
        plugin="1.8.0",
    ),
}


def needs(version: str) -> Needs:
    """Return the needs of a version such as `v1.36.3`."""
    return NEEDS.get(version.rpartition(".")[0], Needs())


def switched_on(*names: str) -> dict[str, bool]:
    """Return settings that turn on whatever is named."""
    return dict.fromkeys(names, True)
