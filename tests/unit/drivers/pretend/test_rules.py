"""What the pretended driver may do: its rules, and the ClusterRole of its manifests."""

import yaml

from dragoman_drivers.pretend.driver import RULES
from tests.e2e.conformance.kit import MANIFESTS


def test_the_rules_are_those_of_the_manifests_that_the_kit_runs_it_with() -> None:
    documents = yaml.safe_load_all(MANIFESTS.read_text())
    (role,) = (one for one in documents if one["kind"] == "ClusterRole")
    shipped = [
        {key: value for key, value in rule.items() if key != "resourceNames"}
        for rule in role["rules"]
    ]
    assert shipped == [*RULES]
