"""Validation rules of structural schemas: x-kubernetes-validations, as in the API server.

Source: apiextensions-apiserver pkg/apiserver/schema/cel, Kubernetes 1.36.
"""

from dragoman_cel.rules.rule import Rule
from dragoman_cel.rules.ruleset import OBJECT_LIMIT, Outcome, RuleProblem, RuleSet, compile  # noqa: A004 — read as rules.compile

__all__ = ["OBJECT_LIMIT", "Outcome", "Rule", "RuleProblem", "RuleSet", "compile"]
