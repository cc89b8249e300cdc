"""The worst-case cost of an expression, before it runs.

A port of cel-go's checker/cost.go (0.26) with Kubernetes' additions. Only the maximum matters, so
costs are single numbers; sizes keep their minimum because `replace` divides by it. Everything
saturates at 2^64-1. Admission compares the result with a limit, so it must be cel-go's number even
where that number is too large: an operand of unknown size counts as 2^64-1.
"""

from dragoman_cel.estimate.estimator import estimate
from dragoman_cel.estimate.operands import SizeOfPath
from dragoman_cel.estimate.sizes import UNLIMITED, Path

__all__ = ["UNLIMITED", "Path", "SizeOfPath", "estimate"]
