"""Who may do what: the whole of it stands here, so that growth shows in review."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from dragoman.controllers.preemption.planning import NEEDED
from dragoman_toolkit.dra.cluster import rights
from tests.charts.matrix import MATRIX
from tests.charts.rendering import Json, Values, one, render
from tests.e2e.rbac import (
    EXPLAIN_RULES,
    MAINTENANCE_RULES,
    PREEMPTING_RULES,
    PREEMPTION_RULES,
)
from tests.e2e.webhook.rbac import SCHEMA_RULES, WEBHOOK_RULES

OPERATOR = """
pods: get list watch
pods/status: patch
resourceclaims.resource.k8s.io: create delete get list patch watch
resourceclaims/binding.resource.k8s.io: patch
resourceclaims/status.resource.k8s.io: patch
resourceclaimtemplates.resource.k8s.io: get list watch
podgroups.scheduling.k8s.io: get list watch
podgroups/status.scheduling.k8s.io: patch
deviceclasses.resource.k8s.io: list watch
events.events.k8s.io: create
driverconfigschemas.dragoman.dev: get list watch
driverconfigschemas/status.dragoman.dev: patch
resourceslices.resource.k8s.io: get list watch
devicetaintrules.resource.k8s.io: get list watch
resourcepoolstatusrequests.resource.k8s.io: get list watch
resourcepoolstatusrequests/status.resource.k8s.io: update
"""
WITHOUT_CLAIMS = """
resourceclaims.resource.k8s.io: list watch
resourceclaimtemplates.resource.k8s.io: list watch
deviceclasses.resource.k8s.io: list watch
events.events.k8s.io: create
driverconfigschemas.dragoman.dev: get list watch
driverconfigschemas/status.dragoman.dev: patch
"""
CLUSTER_TEMPLATES = """
resourceclaimtemplates.resource.k8s.io: create delete get
namespaces: list watch
clusterresourceclaimtemplates.dragoman.dev: get list watch
clusterresourceclaimtemplates/status.dragoman.dev: patch
"""
COPYING: Values = {"clusterTemplates": {"enabled": True}}
FINDINGS = """
nodes: list
pods: list
resourceclaims.resource.k8s.io: list
resourceclaimtemplates.resource.k8s.io: list
deviceclasses.resource.k8s.io: list
resourceslices.resource.k8s.io: list
devicetaintrules.resource.k8s.io: list
validatingwebhookconfigurations.admissionregistration.k8s.io: list
"""
CATALOG = {"catalog": {"enabled": True}}
OWN_SECRET = {"webhook": {"tls": {"mode": "cert-manager"}}}

ROLES: dict[str, tuple[Values, str, str, str]] = {
    "the operator": ({}, "ClusterRole", "dragoman-operator", OPERATOR),
    "the operator that leaves claims alone": (
        {"claims": {"mode": "off"}, "poolStatus": {"mode": "off"}},
        "ClusterRole",
        "dragoman-operator",
        WITHOUT_CLAIMS,
    ),
    "the operator that only evicts": (
        {
            "claims": {"mode": "off"},
            "evictions": {"mode": "own"},
            "poolStatus": {"mode": "off"},
        },
        "ClusterRole",
        "dragoman-operator",
        WITHOUT_CLAIMS.rstrip()
        + """
        pods: get list watch
        pods: delete
        pods/status: patch
        resourceclaims.resource.k8s.io: get
        resourceslices.resource.k8s.io: get list watch
        devicetaintrules.resource.k8s.io: get list watch
        devicetaintrules/status.resource.k8s.io: patch
        """,
    ),
    "the leader": (
        {},
        "Role",
        "dragoman-leader",
        """
        leases.coordination.k8s.io: create
        leases.coordination.k8s.io dragoman-operator: get update
        """,
    ),
    "the record of device-seconds": (
        {"metrics": {"devices": True}},
        "Role",
        "dragoman-device-seconds",
        """
        configmaps dragoman-device-seconds: get update
        """,
    ),
    "the webhook": (
        {},
        "ClusterRole",
        "dragoman-webhook",
        """
        driverconfigschemas.dragoman.dev: list watch
        validatingwebhookconfigurations.admissionregistration.k8s.io dragoman: get list patch watch
        """,
    ),
    "the webhook's certificates": (
        {},
        "Role",
        "dragoman-webhook-tls",
        "secrets dragoman-webhook-tls: get list update watch",
    ),
    "the webhook whose certificates somebody else keeps": (
        OWN_SECRET,
        "ClusterRole",
        "dragoman-webhook",
        "driverconfigschemas.dragoman.dev: list watch",
    ),
    "the test": (
        {},
        "ClusterRole",
        "dragoman-verify",
        """
        driverconfigschemas.dragoman.dev: create list
        deviceclasses.resource.k8s.io: create
        """,
    ),
    "the hook before an uninstallation": (
        {},
        "ClusterRole",
        "dragoman-delete-webhooks",
        "validatingwebhookconfigurations.admissionregistration.k8s.io dragoman: delete",
    ),
    "people who look": (
        {},
        "ClusterRole",
        "dragoman-schemas-view",
        """
        driverconfigschemas.dragoman.dev: get list watch
        driverconfigschemas/status.dragoman.dev: get list watch
        """,
    ),
    "people who decide": (
        {},
        "ClusterRole",
        "dragoman-schemas-edit",
        "driverconfigschemas.dragoman.dev: create delete get list patch update watch",
    ),
    "people who decide for many namespaces": (
        COPYING,
        "ClusterRole",
        "dragoman-cluster-templates-edit",
        "clusterresourceclaimtemplates.dragoman.dev: create delete get list patch update watch",
    ),
}


@pytest.mark.parametrize(("values", "kind", "name", "expected"), ROLES.values(), ids=ROLES)
def test_may_do_exactly_this(values: Values, kind: str, name: str, expected: str) -> None:
    assert set(spelt(one(render(values), kind, name))) == lines(expected)


def test_objects_whose_status_is_written_may_be_read_after_a_conflict() -> None:
    role = one(render({"maintenance": {"enabled": True}}), "ClusterRole", "dragoman-operator")
    rights = [right.split(": ") for right in spelt(role) if ".dragoman.dev: " in right]
    written = {name.replace("/status", "") for name, verbs in rights if "/status" in name}
    assert written <= {name for name, verbs in rights if "get" in verbs.split()}


def test_the_catalog_adds_the_right_to_apply_it() -> None:
    role = one(render(CATALOG), "ClusterRole", "dragoman-operator")
    added = set(spelt(role)) - lines(OPERATOR)
    assert added == {"driverconfigschemas.dragoman.dev: create patch"}


def test_cluster_templates_add_the_rights_to_write_templates() -> None:
    role = one(render(COPYING), "ClusterRole", "dragoman-operator")
    assert set(spelt(role)) - lines(OPERATOR) == lines(CLUSTER_TEMPLATES)


def test_maintenances_write_claims_in_the_namespace_of_the_release_alone() -> None:
    documents = render({"claims": {"mode": "off"}, "maintenance": {"enabled": True}})
    wide = set(spelt(one(documents, "ClusterRole", "dragoman-operator")))
    written = {line for line in wide if line.startswith("resourceclaims") and WRITES & verbs(line)}
    # The API server asks for this right at the scope of the cluster; alone it allows nothing.
    assert written == {"resourceclaims/binding.resource.k8s.io: patch"}
    role = one(documents, "Role", "dragoman-holds")
    assert role["metadata"]["namespace"] == "dragoman-system"
    assert set(spelt(role)) == lines(
        """
        resourceclaims.resource.k8s.io: create delete patch
        resourceclaims/status.resource.k8s.io: patch
        """
    )


WRITES = {"create", "update", "patch", "delete"}


def verbs(line: str) -> set[str]:
    """Return the verbs of a line."""
    return set(line.partition(": ")[2].split())


def test_findings_add_the_rights_to_list() -> None:
    role = one(render({"findings": {"enabled": True}}), "ClusterRole", "dragoman-operator")
    assert set(spelt(role)) - lines(OPERATOR) == lines(FINDINGS)


PREEMPTION = """
nodes: list
pods: list watch
namespaces: list
poddisruptionbudgets.policy: list
resourceclaims.resource.k8s.io: list
resourceclaimtemplates.resource.k8s.io: list
deviceclasses.resource.k8s.io: list
resourceslices.resource.k8s.io: list
devicetaintrules.resource.k8s.io: list
devicepreemptions.dragoman.dev: create delete list patch
devicepreemptions/status.dragoman.dev: patch
"""


def test_reports_of_preemption_add_rights_to_list_and_to_write_reports_alone() -> None:
    documents = render({"preemption": {"mode": "report"}})
    role = one(documents, "ClusterRole", "dragoman-operator")
    assert set(spelt(role)) - lines(OPERATOR) == lines(PREEMPTION)
    viewer = one(documents, "ClusterRole", "dragoman-preemptions-view")
    # What a pod's plan says is part of no role that tenants have.
    assert "rbac.authorization.k8s.io/aggregate-to-view" not in viewer["metadata"]["labels"]


EXPLAINING = """
nodes: list watch
resourceslices.resource.k8s.io: list watch
devicetaintrules.resource.k8s.io: list watch
deviceclasses.resource.k8s.io: list watch
"""


@pytest.mark.parametrize(
    ("values", "explains"),
    [
        pytest.param({"claims": {"mode": "own"}}, True, id="the only claim controller"),
        pytest.param({"claims": {"mode": "auto"}}, False, id="beside others"),
        pytest.param({"claims": {"mode": "assist"}}, False, id="helping others"),
        pytest.param({"explain": {"events": True}}, True, id="asked for"),
        pytest.param(
            {"claims": {"mode": "own"}, "explain": {"events": False}}, False, id="turned off"
        ),
        pytest.param({"metrics": {"devices": True}}, True, id="metrics of devices"),
    ],
)
def test_rights_to_explain_are_there_where_the_operator_explains(
    values: Values, *, explains: bool
) -> None:
    documents = render(values)
    found = set(spelt(one(documents, "ClusterRole", "dragoman-operator")))
    assert found == lines(OPERATOR) | (lines(EXPLAINING) if explains else set())
    deployment = one(documents, "Deployment", "dragoman-operator")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert ("--explain-events" in arguments) is (explains and "metrics" not in values)
    assert ("--device-metrics" in arguments) is ("metrics" in values)


def test_tests_that_explain_grant_what_the_chart_grants() -> None:
    role = one(render({"explain": {"events": True}}), "ClusterRole", "dragoman-operator")
    plain = one(render(), "ClusterRole", "dragoman-operator")
    assert grants(role["rules"]) == grants(plain["rules"]) | grants(EXPLAIN_RULES)


def test_tests_that_plan_preemptions_grant_what_the_chart_grants() -> None:
    role = one(render({"preemption": {"mode": "report"}}), "ClusterRole", "dragoman-operator")
    plain = one(render(), "ClusterRole", "dragoman-operator")
    assert grants(role["rules"]) == grants(plain["rules"]) | grants(PREEMPTION_RULES)


def test_tests_that_preempt_grant_what_the_chart_grants() -> None:
    documents = render({"preemption": {"mode": "on"}})
    role = one(documents, "ClusterRole", "dragoman-preemption")
    assert grants(role["rules"]) == grants(PREEMPTING_RULES)
    # An account that may write these could double-book devices.
    assert not {"resourceclaims/status", "resourceclaims/binding", "pods"} & {
        resource
        for rule in role["rules"]
        for resource in rule["resources"]
        if {"patch", "update", "delete"} & {*rule["verbs"]}
    }
    acting = one(documents, "Role", "dragoman-preemption-account")
    assert [*spelt(acting)] == ["serviceaccounts dragoman-preemption: impersonate"]


def test_a_command_that_preempts_asks_for_all_that_the_account_may_do() -> None:
    needs = {(need.group, need.resource, need.verb) for need in rights.preempting("ml")}
    listed = {one for one in grants(PREEMPTING_RULES) if one[1] in NEEDED and one[2] == "list"}
    assert needs | listed == grants(PREEMPTING_RULES)


def test_pods_are_read_where_claims_are_left_alone() -> None:
    values: Values = {"claims": {"mode": "off"}, "explain": {"events": True}}
    found = set(spelt(one(render(values), "ClusterRole", "dragoman-operator")))
    assert lines(EXPLAINING) | {"pods: get list watch"} <= found


def test_the_metrics_of_the_api_server_are_read_only_where_that_is_wanted() -> None:
    role = one(render({"rbac": {"apiServerMetrics": True}}), "ClusterRole", "dragoman-operator")
    (rule,) = [rule for rule in role["rules"] if "nonResourceURLs" in rule]
    assert rule == {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    plain = one(render(), "ClusterRole", "dragoman-operator")
    assert not [rule for rule in plain["rules"] if "nonResourceURLs" in rule]


def test_without_cluster_templates_nothing_may_be_created_in_namespaces_of_others() -> None:
    spelt_rules = [
        line
        for document in render()
        if document["kind"] == "ClusterRole"
        for line in spelt(document)
    ]
    assert not [line for line in spelt_rules if "clusterresourceclaimtemplates" in line]
    assert "resourceclaimtemplates.resource.k8s.io: get list watch" in spelt_rules
    assert not [line for line in spelt_rules if line.startswith("namespaces")]


MAINTENANCE: Values = {"maintenance": {"enabled": True}}


GRANTED: dict[str, tuple[Values, str, Iterable[Mapping[str, Any]]]] = {
    "the operator": (
        {**CATALOG, **COPYING},
        "dragoman-operator dragoman-leader",
        SCHEMA_RULES,
    ),
    "the operator with maintenances": (
        {**CATALOG, **COPYING, **MAINTENANCE},
        "dragoman-operator dragoman-leader",
        (*SCHEMA_RULES, *MAINTENANCE_RULES),
    ),
    "the webhook": ({}, "dragoman-webhook dragoman-webhook-tls", WEBHOOK_RULES),
}


@pytest.mark.parametrize(("values", "roles", "rules"), GRANTED.values(), ids=GRANTED)
def test_all_tests_with_an_api_server_grant_what_the_chart_grants(
    values: Values, roles: str, rules: Iterable[Mapping[str, Any]]
) -> None:
    given = [
        rule
        for document in render(values)
        if document["kind"] in {"Role", "ClusterRole"}
        and document["metadata"]["name"] in roles.split()
        for rule in document["rules"]
    ]
    assert grants(given) == grants(rules)


def grants(rules: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_there_are_no_other_roles() -> None:
    found = {
        (role["kind"], role["metadata"]["name"])
        for role in render({**CATALOG, **COPYING, "metrics": {"devices": True}})
        if role["kind"] in {"Role", "ClusterRole"}
    }
    assert found == {(kind, name) for _, kind, name, _ in ROLES.values()}


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_nobody_may_do_everything_or_read_secrets_of_others(values: Values) -> None:
    roles = [one for one in render(values) if one["kind"] in {"Role", "ClusterRole"}]
    assert roles
    for role in roles:
        for rule in role["rules"]:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
            assert not {"escalate", "bind"} & set(rule["verbs"])
            if "impersonate" in rule["verbs"]:
                assert rule["resourceNames"] == ["dragoman-preemption"]
            if "secrets" in rule["resources"]:
                assert rule["resourceNames"] == ["dragoman-webhook-tls"]


def test_only_the_role_that_reads_is_part_of_what_everyone_has() -> None:
    aggregated = [
        role["metadata"]["name"]
        for role in render()
        if any("aggregate-to" in label for label in role["metadata"]["labels"])
    ]
    assert aggregated == ["dragoman-schemas-view"]


def test_bindings_bind_the_accounts_that_the_pods_run_as() -> None:
    documents = render({"operator": {"serviceAccount": {"create": False, "name": "mine"}}})
    deployment = one(documents, "Deployment", "dragoman-operator")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "mine"
    for kind, name in (
        ("ClusterRoleBinding", "dragoman-operator"),
        ("RoleBinding", "dragoman-leader"),
    ):
        (subject,) = one(documents, kind, name)["subjects"]
        assert subject == {
            "kind": "ServiceAccount",
            "name": "mine",
            "namespace": "dragoman-system",
        }


def test_without_rbac_nothing_is_left_that_would_need_it() -> None:
    kinds = {document["kind"] for document in render({"rbac": {"create": False}})}
    assert not {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Job", "Pod"} & kinds


def spelt(role: Json) -> Iterator[str]:
    """Yield a role's rules, one line for each resource."""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                what = f"{resource}.{group}" if group else resource
                named = " ".join([what, *rule.get("resourceNames", ())])
                yield f"{named}: {' '.join(sorted(rule['verbs']))}"


def lines(text: str) -> set[str]:
    return {line.strip() for line in text.strip().splitlines()}


def test_without_maintenances_no_pod_may_be_evicted() -> None:
    plain = [line for one in render() if one["kind"] == "ClusterRole" for line in spelt(one)]
    assert not [line for line in plain if "eviction" in line or "devicemaintenances" in line]
    wanted = {
        "dragoman-maintenance-edit": "devicemaintenances.dragoman.dev: create delete get",
        "dragoman-webhook": "resourceslices.resource.k8s.io: list watch",
    }
    documents = render(MAINTENANCE)
    for name, line in wanted.items():
        assert [one for one in spelt(one(documents, "ClusterRole", name)) if one.startswith(line)]
