"""kube-scheduler's allocator of Dynamic Resource Allocation."""

from dragoman.allocation.allocator import BUDGET, allocate, fits
from dragoman.allocation.claims import parse_claim
from dragoman.allocation.cluster import Cluster, UnknownNodeError
from dragoman.allocation.features import (
    Features,
    Profile,
    UnknownGateError,
    Variant,
    profile,
    profile_of,
)
from dragoman.allocation.parsing import parse_class, parse_node, parse_slice, parse_taint_rule
from dragoman.allocation.results import (
    Allocated,
    Allocation,
    BudgetExceeded,
    DoesNotFit,
    FatalError,
    NodeError,
    Outcome,
)
