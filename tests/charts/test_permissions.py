"""The tables of rights in docs/security.md are those of the chart."""

import pytest

from docs.generate_permissions import CONFIGURATIONS, PAGE, added, rights, written
from tests.charts.matrix import MATRIX
from tests.charts.rendering import Values, render

EVERYTHING: Values = {
    "claims": {"mode": "own", "safeRelease": True},
    "clusterTemplates": {"enabled": True},
    "evictions": {"mode": "own"},
    "poolStatus": {"mode": "own"},
    "inventory": {"reports": True},
    "explain": {"events": True},
    "metrics": {"devices": True},
    "findings": {"enabled": True},
    "maintenance": {"enabled": True},
    "preemption": {"mode": "report"},
    "catalog": {"enabled": True},
    "rbac": {"apiServerMetrics": True},
}


def test_the_page_has_the_rights_that_helm_renders() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run `make pages`"


@pytest.mark.parametrize(
    "values", [*MATRIX.values(), EVERYTHING], ids=[*MATRIX, "every controller"]
)
def test_no_configuration_has_a_right_that_the_page_lacks(values: Values) -> None:
    listed = set().union(*map(added, CONFIGURATIONS))
    documents = [one for one in render(values) if one["kind"] in {"Role", "ClusterRole"}]
    names = {one["metadata"]["name"].removeprefix("dragoman-") for one in documents}
    assert names <= {name for one in CONFIGURATIONS for name in one.roles}
    found = rights(documents, tuple(names))
    assert found - listed == set()


def test_every_row_adds_rights() -> None:
    assert [one.title for one in CONFIGURATIONS if not added(one)] == []
