"""Validate DriverConfigSchemas in files by their own CustomResourceDefinition.

In a cluster the API server does it. Files come without that, so `dragoman check` applies the same
definition: mistyped fields, limits, the CRD's CEL rules.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman_base.files.unreadable import MAX_DOCUMENT_DEPTH
from dragoman_cel.budget import REVIEW_STEPS, StepBudget
from dragoman_configs.compile.compiler import CompiledConfig, compile_config
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import CLAIM, DENY, ConfigSpec
from dragoman_configs.review.parameters_validation import validate_parameters


def compile_crd(document: Mapping[str, Any]) -> CompiledConfig:
    """Compile the schema of a CustomResourceDefinition's first version.

    Raises:
        ValueError: Its rules do not compile.
    """
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    # Every object has metadata, which the schema need not declare.
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {**schema, "properties": {**schema["properties"], "metadata": free}}
    spec = ConfigSpec("", "", frozenset({CLAIM}), schema, DENY, ())
    compiled, errors = compile_config(spec, (), "")
    if errors:
        raise ValueError(str(errors[0]))
    return compiled


def validate_object(crd: CompiledConfig, document: Any) -> tuple[ConfigFieldError, ...]:
    """List an object's errors, with paths from its root."""
    budget = StepBudget(REVIEW_STEPS)
    result = validate_parameters(crd, document, budget, depth=MAX_DOCUMENT_DEPTH)
    return tuple(replace(error, path=error.path.lstrip(".")) for error in result.errors)
