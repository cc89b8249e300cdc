"""The authorizer's functions; selectors and rules have no authorizer to call them on."""

from typing import Any, NoReturn

from dragoman_cel.state import Functions


def _refuse(*_: Any) -> NoReturn:
    # The checker accepts null here; see Program.untyped.
    raise TypeError


_FUNCTIONS = (
    "authorizer_fieldselector", "authorizer_group", "authorizer_labelselector", "authorizer_path",
    "authorizer_serviceaccount", "decision_allowed", "decision_error", "decision_errored",
    "decision_reason", "groupcheck_resource", "pathcheck_check", "resourcecheck_check",
    "resourcecheck_name", "resourcecheck_namespace", "resourcecheck_subresource",
)  # fmt: skip
OVERLOADS: Functions = dict.fromkeys(_FUNCTIONS, _refuse)
