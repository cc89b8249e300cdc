"""Values that cannot be used are refused before anything is installed, in words."""

import json
import re
from typing import Any

import pytest

from docs import generate_chart
from tests.charts.matrix import CA
from tests.charts.rendering import CHART, Json, RefusedError, Values, arguments, helm, render

OUTSIDE = re.compile(r"\.Values\.([A-Za-z.]+)")

REFUSED: dict[str, tuple[Values, str]] = {
    "a word that is misspelt": ({"operator": {"replica": 2}}, "'replica' not allowed"),
    "a text for a number": ({"webhook": {"replicas": "two"}}, "got string, want integer"),
    "a mode that does not exist": ({"claims": {"mode": "steal"}}, "must be one of 'assist', 'own'"),
    "a driver that is not in the catalog": (
        {"catalog": {"drivers": {"gpu.example.org": {"mode": "Warn"}}}},
        "gpu.example.org",
    ),
    "a mode that schemas do not have": (
        {"catalog": {"drivers": {"gpu.nvidia.com": {"mode": "Refuse"}}}},
        "must be one of 'Enforce'",
    ),
    "an alert that does not exist": (
        {"monitoring": {"prometheusRule": {"disabled": ["Nonsense"]}}},
        "must be one of 'DragomanOperatorNotLeading'",
    ),
    "a name that no object could have": ({"fullnameOverride": "Foo_Bar"}, "does not match pattern"),
    "rights for the account of all other pods": (
        {"operator": {"serviceAccount": {"create": False}}},
        "operator.serviceAccount.name must name the account",
    ),
    "a group that is nothing": ({"webhook": None}, "at '': missing property 'webhook'"),
    "a group in a group that is nothing": (
        {"operator": {"ports": None}},
        "at '/operator': missing property 'ports'",
    ),
    "a number that is nothing": (
        {"claims": {"graceSeconds": None}},
        "at '/claims': missing property 'graceSeconds'",
    ),
    "an image without a registry": (
        {"image": {"registry": ""}},
        "image.registry is empty: set it to the registry that has the image",
    ),
    "a variable that the driver does not have": (
        {"catalog": {"drivers": {"gpu.nvidia.com": {"variables": {"MPSupport": True}}}}},
        "'MPSupport' not allowed",
    ),
    "a variable of another type": (
        {"catalog": {"drivers": {"gpu.nvidia.com": {"variables": {"MPSSupport": "yes"}}}}},
        "got string, want boolean",
    ),
    "half a digest": ({"image": {"digest": "sha256:abc"}}, "does not match pattern"),
    "a URL at which the webhook answers nothing": (
        {"webhook": {"url": "https://dragoman.example.com"}},
        "does not match pattern",
    ),
    "a pull secret without a name": ({"imagePullSecrets": [{"nam": "mine"}]}, "missing property"),
    "a URL without TLS": ({"webhook": {"url": "http://example.com"}}, "does not match pattern"),
    "nothing to install": (
        {"operator": {"enabled": False}, "webhook": {"enabled": False}},
        "the release would be empty",
    ),
    "replicas without an election": (
        {"operator": {"replicas": 2}, "leaderElection": {"enabled": False}},
        "replicas would write conflicting changes",
    ),
    "a lease under which two could lead": (
        {"leaderElection": {"renewDeadlineSeconds": 15}},
        "retryPeriodSeconds must be less than renewDeadlineSeconds",
    ),
    "a catalog that nobody applies": (
        {"catalog": {"enabled": True}, "operator": {"enabled": False}},
        "the operator applies the catalog",
    ),
    "a list of drivers without drivers": (
        {"catalog": {"enabled": True, "scope": "listed"}},
        "catalog.drivers lists no driver",
    ),
    "a review that takes longer than it is waited for": (
        {"webhook": {"deadlineSeconds": 5}},
        "the API server stops waiting",
    ),
    "a Secret without a name": (
        {"webhook": {"tls": {"mode": "secret", "secret": {"caBundle": CA}}}},
        "must name a Secret",
    ),
    "a Secret that nobody trusts": (
        {"webhook": {"tls": {"mode": "secret", "secret": {"name": "mine"}}}},
        "would not trust the webhook",
    ),
    "a bundle that is none": (
        {"webhook": {"tls": {"mode": "secret", "secret": {"name": "a", "caBundle": "aGVsbG8="}}}},
        "must be base64-encoded PEM certificates",
    ),
    "both kinds of a budget": (
        {"webhook": {"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}},
        "set minAvailable or maxUnavailable, not both",
    ),
    "a pod that is killed before it stops": (
        {"operator": {"preStopSeconds": 30}},
        "kills pods before they shut down",
    ),
    "one port for two things": (
        {"webhook": {"ports": {"health": 9443}}},
        "webhook.ports.health and webhook.ports.webhook must differ",
    ),
    "everything counted twice": (
        {"monitoring": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}},
        "counts all metrics twice",
    ),
    "monitors of Services that are not there": (
        {"monitoring": {"serviceMonitor": {"enabled": True}, "services": False}},
        "serviceMonitor needs monitoring.services",
    ),
    "monitors that the cluster must know": (
        {"monitoring": {"serviceMonitor": {"enabled": True}, "renderMode": "failIfMissing"}},
        "install the Prometheus operator first",
    ),
}


@pytest.mark.parametrize(("values", "said"), REFUSED.values(), ids=REFUSED)
def test_refuses(values: Values, said: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(said)):
        render(values)


def test_all_faults_are_told_at_once() -> None:
    values = {"webhook": {"deadlineSeconds": 9, "ports": {"health": 9443}}}
    with pytest.raises(RefusedError) as refused:
        render(values)
    assert str(refused.value).count("\n  - ") == 2


def test_what_may_be_empty_may_be_null() -> None:
    emptied: Json = {}
    for value in generate_chart.read(values_text()).leaves():
        if not value.members and isinstance(value.default, dict | list | str | None):
            *outer, last = value.path
            inner = emptied
            for key in outer:
                inner = inner.setdefault(key, {})
            if not value.default or isinstance(value.default, dict):
                inner[last] = None
    assert emptied["operator"]["securityContext"] is emptied["image"]["tag"] is None
    watched = {"monitoring": {"renderMode": "alwaysRender", "prometheusRule": {"enabled": True}}}
    emptied["image"]["registry"] = "registry.example.com"
    assert render(emptied | {"catalog": {"enabled": True, "drivers": None}} | watched)


def test_a_cluster_that_is_too_old_is_refused() -> None:
    with pytest.raises(RefusedError, match=r">=1\.34\.0-0 .*incompatible with Kubernetes v1\.33"):
        render({}, "--kube-version=1.33.9")


@pytest.mark.parametrize("version", ["1.34.0", "v1.36.3-gke.100", "1.37.0-alpha.1"])
def test_newer_clusters_are_fine_whatever_their_vendor_appends(version: str) -> None:
    assert render({}, f"--kube-version={version}")


def test_every_value_is_used_and_every_value_that_is_used_is_described() -> None:
    described = {".".join(path) for path in leaves(generate_chart.read(values_text()))}
    templates = "".join(path.read_text() for path in (CHART / "templates").rglob("*.*"))
    words = set(re.findall(r"[A-Za-z]+", templates))
    # Most are reached through variables, so the last key is looked for wherever it stands.
    assert {
        path for path in described if not words & {path.split(".")[-1], passed_on(path)}
    } == set()
    for path in OUTSIDE.findall(templates):
        assert any(f"{one}.".startswith(f"{path}.") for one in groups(described)), path


def passed_on(path: str) -> str:
    """Return the group of a value that Kubernetes gets as a whole, or nothing."""
    group = path.split(".")[-2:-1]
    return group[0] if group and group[0].endswith("Probe") else ""


def leaves(value: Any) -> list[tuple[str, ...]]:
    return [one.path for one in value.leaves() if not one.members]


def groups(paths: set[str]) -> set[str]:
    """Return the paths of values and of all groups that they are in."""
    return {
        ".".join(parts[:length])
        for parts in (path.split(".") for path in paths)
        for length in range(1, len(parts) + 1)
    }


def values_text() -> str:
    return (CHART / "values.yaml").read_text()


@pytest.mark.parametrize("path", generate_chart.files(), ids=lambda path: path.name)
def test_what_follows_from_other_files_is_up_to_date(path: Any) -> None:
    assert path.read_text() == generate_chart.files()[path], "run python docs/generate_chart.py"


def test_a_value_without_a_comment_is_told() -> None:
    with pytest.raises(ValueError, match=r"operator\.replicas: no comment"):
        generate_chart.read("operator:\n  # -- Yes.\n  enabled: true\n  replicas: 1\n")


def test_values_are_grouped_by_component() -> None:
    values = generate_chart.read(values_text())
    titles = generate_chart.sections(values)
    assert len(titles) >= 10
    readme = (CHART / "README.md").read_text()
    assert [title for title in titles if f"\n### {title}\n" not in readme] == []
    with pytest.raises(ValueError, match="a: no comment `# @section"):
        generate_chart.sections(generate_chart.read("# -- One.\na: 1\n"))


def test_operator_and_webhook_are_configured_alike() -> None:
    paths = leaves(generate_chart.read(values_text()))
    of = {part: {path[1:] for path in paths if path[0] == part} for part in ("operator", "webhook")}
    assert of["operator"] <= of["webhook"]


def test_a_parent_chart_may_share_what_it_likes_in_global() -> None:
    assert render({"global": {"anything": {"at": "all"}}})


def test_notes_tell_what_was_installed_and_what_to_try() -> None:
    notes = notes_of("{}")
    assert "Claims: assist." in notes
    assert "never takes over" in notes
    assert "failurePolicy Fail, certificates: self" in notes
    assert "helm test dragoman -n dragoman-system" in notes
    assert "kubectl dra doctor" in notes
    assert "https://dragoman.dev/install" in notes
    assert "WARNING" not in notes
    assert re.findall(r"<[a-z]+>", notes) == []


@pytest.mark.parametrize(
    ("values", "value"),
    [
        pytest.param({}, "--set catalog.enabled=true", id="as it comes"),
        pytest.param(
            {"operator": {"enabled": False}},
            "--set operator.enabled=true,catalog.enabled=true",
            id="nobody applies the catalog",
        ),
        pytest.param({"catalog": {"enabled": True}}, None, id="with the catalog"),
        pytest.param({"catalogue": {"enabled": True}}, None, id="in the former spelling"),
        pytest.param({"webhook": {"enabled": False}}, None, id="without the webhook"),
    ],
)
def test_notes_tell_the_one_value_that_lets_the_webhook_validate(
    values: Values, value: str | None
) -> None:
    notes = notes_of(json.dumps(values))
    assert ("NOTHING IS VALIDATED YET" in notes) is bool(value)
    assert re.findall("--set .*", notes) == ([value] if value else [])


@pytest.mark.parametrize("member", ["enabled", "scope", "drivers"])
def test_the_former_spelling_of_the_catalog_takes_the_same_values(member: str) -> None:
    with pytest.raises(RefusedError, match=f"/catalogue/{member}"):
        render({"catalogue": {member: 7}})


def test_the_former_spelling_of_the_catalog_replaces_the_new_one() -> None:
    listed = {"scope": "listed", "drivers": {"dra.net": {"mode": "Warn"}}}
    given = arguments(render({"catalog": {"enabled": True}, "catalogue": listed}), "operator")
    assert {"--catalog=dra.net", "--catalog-mode=dra.net=Warn"} <= set(given)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param('{"webhook": {"replicas": 1}}', "webhook.replicas is 1", id="one webhook"),
        pytest.param(
            '{"webhook": {"enabled": false}}',
            "the API server rejects no driver configs",
            id="no webhook",
        ),
        pytest.param(
            '{"operator": {"enabled": false}}', "The operator is not installed", id="no operator"
        ),
        pytest.param(
            '{"webhook": {"failurePolicy": "IgnoreOnInstallOnly"}}',
            "until the first `helm upgrade`",
            id="a policy that changes",
        ),
        pytest.param(
            '{"monitoring": {"prometheusRule": {"enabled": true}}}',
            "Skipped (CRDs of monitoring.coreos.com/v1 not installed): PrometheusRule",
            id="rules that nobody would read",
        ),
    ],
)
def test_notes_warn_of(values: str, said: str) -> None:
    assert said in notes_of(values)


def test_notes_tell_whose_claims_are_not_reviewed() -> None:
    line = "It does not validate claims and templates in kube-system, dragoman-system, legacy.\n"
    assert line in notes_of('{"webhook": {"excludedNamespaces": ["legacy", "kube-system"]}}')
    assert "WARNING" not in notes_of("{}")
    assert "whose objects the webhook does not validate" in notes_of("{}", namespace="default")


def notes_of(values: str, namespace: str = "dragoman-system") -> str:
    # CRDs are looked up in the cluster even by a dry run on the client's side.
    said = helm(
        *("install", "dragoman", str(CHART), f"--namespace={namespace}"),
        *("--dry-run=client", "--set=crds.enabled=false", "--set=image.registry=localhost"),
        values=values,
    )
    return said.partition("NOTES:")[2]
