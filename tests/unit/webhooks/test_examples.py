"""The examples grant what the tests on a real API server have, no more and no less."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.rbac import OPERATOR_RULES, POOL_STATUS_RULES
from tests.e2e.webhook.rbac import SCHEMA_RULES, WEBHOOK_RULES

BESIDE = len(OPERATOR_RULES) + len(POOL_STATUS_RULES)
"""What the chart grants for claims and pool status; the example leaves it out."""
FOLDER = Path(__file__).parents[3] / "examples/webhook"
Grant = tuple[str, str, str, str]


def grants(rules: Iterable[Mapping[str, Any]]) -> set[Grant]:
    """Return every single thing that is allowed: group, resource, name, verb."""
    return {
        (group, resource, name, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }


def written(name: str) -> set[Grant]:
    documents = yaml.safe_load_all((FOLDER / name).read_text())
    return grants(rule for one in documents for rule in one.get("rules") or ())


@pytest.mark.parametrize(
    ("name", "rules"),
    [("rbac.yaml", WEBHOOK_RULES), ("operator-rbac.yaml", SCHEMA_RULES[BESIDE:])],
)
def test_an_example_grants_what_is_needed_and_nothing_else(
    name: str, rules: Iterable[Mapping[str, Any]]
) -> None:
    assert written(name) == grants(rules)
