"""The Common Expression Language in Kubernetes' dialect.

Two environments: `cel.selectors` for the selectors of Dynamic Resource Allocation, as
kube-scheduler evaluates them, and `cel.rules` for x-kubernetes-validations, as the API server
does. Outcomes, error texts and costs are those of cel-go. The package is pure: it reads no
clock, has no effects, and bounds time and memory of every expression.

    selector = cel.selectors.compile('device.driver == "gpu.example.com"')
    selector.matches({"attributes": {}}, driver="gpu.example.com")

    ruleset = cel.rules.compile(schema, path="spec")
    ruleset.validate({"replicas": 3})
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from dragoman_cel.budget import StepBudget as StepBudget
from dragoman_cel.errors import CompileError as CompileError
from dragoman_cel.errors import CostLimitExceeded as CostLimitExceeded
from dragoman_cel.errors import EvaluationError as EvaluationError
from dragoman_cel.errors import FieldError as FieldError
from dragoman_cel.errors import FieldErrorType as FieldErrorType
from dragoman_cel.errors import Issue as Issue
from dragoman_cel.errors import StepBudgetExceeded as StepBudgetExceeded

if TYPE_CHECKING:
    from dragoman_cel import rules as rules
    from dragoman_cel import selectors as selectors


def __getattr__(name: str) -> ModuleType:
    """Load an environment when it is first used: values and errors alone need no engine."""
    if name in ("rules", "selectors"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
