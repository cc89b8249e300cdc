"""Which rights commands need, and the role that grants them."""

import pytest

from dragoman.cli.dra.auth import COMMANDS, cluster_role
from dragoman.cli.dra.rights import DRA, Need, of_command


def named(command: str, *, rules: bool = False, binding: bool = True) -> set[str]:
    needs = of_command(command, "ns", ["pods.", f"nodes.{DRA}"], rules=rules, binding=binding)
    return {str(need) for need in needs}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("rules", [True, False])
def test_the_role_grants_what_a_command_needs(command: str, *, rules: bool) -> None:
    needs = of_command(command, "ns", ["pods."], rules=rules, binding=True)
    granted = {
        (group, resource, verb)
        for rule in cluster_role(needs)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {(one.group, one.resource, one.verb) for one in needs} <= granted


def test_holds_are_rules_or_claims() -> None:
    assert f"create devicetaintrules.{DRA}" in named("hold", rules=True)
    assert f"create resourceclaims.{DRA} in namespace ns" in named("hold")
    assert not any("devicetaintrules" in need for need in named("hold"))


def test_allocations_are_authorized_twice_since_1_36() -> None:
    assert f"patch resourceclaims/binding.{DRA}" in named("release")
    assert named("release", binding=False) == {f"patch resourceclaims/status.{DRA}"}


def test_a_drain_evicts_and_the_page_watches() -> None:
    assert {"create pods/eviction", "delete pods"} <= named("drain")
    assert named("ui") == {"watch pods", f"watch nodes.{DRA}"}


def test_the_role_has_each_verb_once() -> None:
    needs = [Need("patch", "pods"), Need("patch", "pods"), Need("delete", "pods")]
    assert cluster_role(needs)["rules"][-1]["verbs"] == ["patch", "delete"]
