"""What the Kubernetes version under test has, for tests that depend on it."""

from tests.support.controlplane import binaries

_MAJOR, _MINOR, *_ = binaries.chosen_version().lstrip("v").split(".")
VERSION = (int(_MAJOR), int(_MINOR))
"""Major and minor version of Kubernetes."""
_POD_GROUPS = {(1, 36): "v1alpha2", (1, 37): "v1beta1"}
POD_GROUPS = f"scheduling.k8s.io/{_POD_GROUPS.get(VERSION, 'v1beta1')}"
"""API version of PodGroups with resource claims; none before 1.36."""
HAS_POD_GROUPS = VERSION >= (1, 36)
NO_POD_GROUPS = (
    f"Kubernetes {VERSION[0]}.{VERSION[1]} has no PodGroups with resource claims "
    "(KEP-5729, alpha in 1.36)"
)
