"""The CRD as a judge: DriverConfigSchemas in files, checked as the API server would check them.

In a cluster no malformed object gets past the CustomResourceDefinition. Files have no such guard,
so `dragoman check` judges them by the same definition: mistyped fields, limits, its own CEL rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.cel.budget import StepBudget
from dragoman.driverconfigs.compiler import CompiledConfig, compile_config
from dragoman.driverconfigs.driverconfigschema import CLAIM, DENY, ConfigSpec
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.parameters_validation import judge
from dragoman.driverconfigs.steps import REVIEW_STEPS
from dragoman.driverconfigs.strictjson import MAX_DOCUMENT_DEPTH


def compile_definition(document: Mapping[str, Any]) -> CompiledConfig:
    """Compile the schema of a CustomResourceDefinition's first version.

    Raises:
        ValueError: its rules do not compile.
    """
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    # Every object has metadata, whatever the schema says of it.
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {**schema, "properties": {**schema["properties"], "metadata": free}}
    spec = ConfigSpec("", "", frozenset({CLAIM}), schema, DENY, ())
    compiled, errors = compile_config(spec, (), "")
    if errors:
        raise ValueError(str(errors[0]))
    return compiled


def complaints(definition: CompiledConfig, document: Any) -> tuple[Finding, ...]:
    """List what the definition has against an object, with paths from its root."""
    outcome = judge(definition, document, StepBudget(REVIEW_STEPS), depth=MAX_DOCUMENT_DEPTH)
    found = outcome.errors
    return tuple(Finding(f.path.lstrip("."), f.reason, f.detail, f.value, f.public) for f in found)
