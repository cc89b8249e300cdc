"""Words that are of Kubernetes and of the toolkit, and so stay in a snapshot without names."""

import re

HOSTNAME = "kubernetes.io/hostname"

KEYS = frozenset(
    {
        HOSTNAME,
        "metadata.name",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "node-role.kubernetes.io/control-plane",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "dragoman.dev/maintenance",
        "kueue.x-k8s.io/managed",
    }
)
"""Keys of labels and taints that are of Kubernetes, or of the toolkit."""
VALUES = frozenset(
    {"linux", "windows", "amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"}
    | {"true", "false"}
)
NUMBER = re.compile(r"-?[0-9]+", re.ASCII)
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,2}", re.ASCII)
LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII
)
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
RESOURCES = re.compile(
    r"cpu|memory|pods|storage|ephemeral-storage|hugepages-[0-9]+[KMG]i", re.ASCII
)
IMPLICIT = "deviceclass.resource.kubernetes.io/"
QUOTA = ".deviceclass.resource.k8s.io/devices"
PROGRAMS = frozenset(
    {
        "dragoman",
        "kube-controller-manager",
        "kube-scheduler",
        "kubectl",
        "kubelet",
        "ResourceClaimController",
        "device-taint-eviction-controller",
    }
)
FINALIZER = "resource.kubernetes.io/delete-protection"
COMMENT = re.compile(r"//[^\n]*")
CONTAINERS = frozenset({"STRING", "BYTES", "QUOTED_IDENT"})
"""Tokens of CEL that may contain what looks like a comment."""
IMAGES = frozenset({"dra-example-driver:v0.4.0", "dragoman:0.1.0"})
"""Last parts of images of drivers that verdicts are shipped for."""
OWN_WEBHOOK = ".dragoman.dev"
GROUPS = re.compile(
    r"v1|(apps|batch|dragoman\.dev|[a-z]+\.k8s\.io)/v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?"
)
