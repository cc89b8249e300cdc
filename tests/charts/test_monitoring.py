"""What is watched: monitors that find the pods, alerts that Prometheus reads, pages that exist."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from docs import generate_dashboard
from dragoman import metrics
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.controllers.explain.collector import DeviceCollector
from dragoman.controllers.explain.counts import DeviceCounts
from dragoman.controllers.explain.usage import UsageController
from dragoman.doctor.finding import SEVERITIES, Severity
from dragoman.metrics import OF_EACH_PROCESS, REGISTRY
from dragoman_webhooks import metrics as reviews
from tests.charts.matrix import MATRIX
from tests.charts.rendering import CHART, MONITORED, Json, Values, names, one, pods, render
from tests.support.controlplane import binaries

DOCS = CHART.parents[1] / "docs"
WATCHED = MATRIX["everything watched"]
DOCUMENTED = re.compile(r"^\| `([a-z_]+)` \| (\w+) \|", re.MULTILINE)
METRIC = re.compile(r"\b(?:dragoman|workqueue|rest_client|leader_election)_[a-z_]+\b")


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor", "PrometheusRule"])
@pytest.mark.parametrize(
    ("mode", "flags", "there"),
    [
        pytest.param("skipIfMissing", (), False, id="left out where nobody knows them"),
        pytest.param("skipIfMissing", (f"--api-versions={MONITORED}",), True, id="where known"),
        pytest.param("failIfMissing", (f"--api-versions={MONITORED}",), True, id="demanded"),
        pytest.param("alwaysRender", (), True, id="rendered without a cluster"),
    ],
)
def test_monitors_are(kind: str, mode: str, flags: tuple[str, ...], there: bool) -> None:
    asked = {"enabled": True}
    key = kind[0].lower() + kind[1:]
    found = render({"monitoring": {"renderMode": mode, key: asked}}, *flags)
    assert bool(names(found, kind)) is there


def test_nothing_is_watched_unless_somebody_asks() -> None:
    kinds = {document["kind"] for document in render({}, f"--api-versions={MONITORED}")}
    assert not kinds & {"ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap"}


def test_service_monitors_find_the_services_of_metrics_and_no_others() -> None:
    documents = render(WATCHED)
    services = [document for document in documents if document["kind"] == "Service"]
    for part in ("operator", "webhook"):
        spec = one(documents, "ServiceMonitor", f"dragoman-{part}")["spec"]
        (found,) = [
            service
            for service in services
            if spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        ]
        assert found["metadata"]["name"] == f"dragoman-{part}-metrics"
        (endpoint,) = spec["endpoints"]
        (port,) = found["spec"]["ports"]
        assert endpoint["port"] == port["name"]
        assert spec["namespaceSelector"] == {"matchNames": ["dragoman-system"]}
    monitor = one(documents, "ServiceMonitor", "dragoman-operator")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_pod_monitors_find_the_pods() -> None:
    documents = render(MATRIX["pods watched"])
    assert names(documents, "Service") == ["dragoman-webhook"]
    deployed = dict(pods([one for one in documents if one["kind"] == "Deployment"]))
    for name, pod in deployed.items():
        spec = one(documents, "PodMonitor", name)["spec"]
        chosen = spec["selector"]["matchLabels"]
        assert chosen.items() <= pod["metadata"]["labels"].items()
        (endpoint,) = spec["podMetricsEndpoints"]
        assert endpoint["interval"] == "30s"
        assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    rules = {rule["alert"]: rule for rule in alerts(WATCHED)}
    assert rules.keys() == {path.stem for path in (DOCS / "runbooks").glob("Dragoman*.md")}
    for name, rule in rules.items():
        assert rule["annotations"]["runbook_url"] == f"https://dragoman.dev/runbooks/{name}"
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["labels"]["team"] == "platform"
        assert {"summary", "description"} <= rule["annotations"].keys()
        page = (DOCS / "runbooks" / f"{name}.md").read_text()
        assert page.startswith(f"# {name}\n")
        for heading in ("## Symptoms", "## Diagnosis", "## Remedy"):
            assert heading in page


def test_links_between_pages_lead_somewhere() -> None:
    for path in (DOCS / "runbooks").glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        pytest.param({}, set(), id="everything"),
        pytest.param(
            {"leaderElection": {"enabled": False}}, {"DragomanOperatorNotLeading"}, id="no election"
        ),
        pytest.param({"webhook": {"enabled": False}}, {"DragomanWebhookDown"}, id="no webhook"),
        pytest.param(
            {"operator": {"enabled": False}},
            {"DragomanOperatorNotLeading", "DragomanSchemaBroken"},
            id="no operator",
        ),
        pytest.param({"claims": {"mode": "off"}}, {"DragomanPodsWaitForClaims"}, id="no claims"),
        pytest.param(
            {"monitoring": {"prometheusRule": {"disabled": ["DragomanQueueSlow"]}}},
            {"DragomanQueueSlow"},
            id="without one of them",
        ),
    ],
)
def test_alerts_are_about_what_is_installed(values: Values, missing: set[str]) -> None:
    told = {rule["alert"] for rule in alerts(values)}
    everything = {rule["alert"] for rule in alerts({})}
    assert missing <= everything
    assert not missing & told
    assert told


def test_groups_of_admins_are_added() -> None:
    mine = {"name": "mine", "rules": [{"alert": "Mine", "expr": "vector(1)"}]}
    assert alerts({"monitoring": {"prometheusRule": {"groups": [mine]}}})[-1]["alert"] == "Mine"


@pytest.mark.parametrize(
    ("tls", "seconds"),
    [
        pytest.param({}, 22.5 * 86400, id="a quarter of 90 days"),
        pytest.param({"lifetimeDays": 8}, 2 * 86400, id="a quarter of 8 days"),
        pytest.param(
            {
                "mode": "secret",
                "secret": {"name": "a", "caBundle": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"},
            },
            14 * 86400,
            id="two weeks for certificates of others",
        ),
    ],
)
def test_certificates_are_overdue_when_renewal_must_have_failed(tls: Json, seconds: float) -> None:
    (rule,) = [
        rule
        for rule in alerts({"webhook": {"tls": tls}})
        if rule["alert"] == "DragomanCertificateExpires"
    ]
    assert rule["expr"].endswith(f"< {seconds:.0f}")


def test_alerts_and_dashboard_ask_for_metrics_that_there_are() -> None:
    documented = DOCUMENTED.findall((DOCS / "metrics.md").read_text())
    known = {name for name, _ in documented} | {
        f"{name}_bucket" for name, kind in documented if kind == "histogram"
    }
    asked = {
        metric
        for text in [*generate_dashboard.expressions(), *(rule["expr"] for rule in alerts(WATCHED))]
        for metric in METRIC.findall(text)
    }
    assert len(asked) > 15
    assert asked - known == set()


def test_the_dashboard_is_up_to_date_and_found_by_the_sidecar_of_grafana() -> None:
    written = (CHART / "files/dashboard.json").read_text()
    assert written == generate_dashboard.dashboard(), "run python docs/generate_dashboard.py"
    config = one(render(WATCHED), "ConfigMap", "dragoman-dashboard")
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert config["metadata"]["annotations"] == {"grafana_folder": "DRA"}
    assert json.loads(config["data"]["dragoman.json"]) == json.loads(written)


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    cells = [
        (x, y)
        for panel in json.loads(generate_dashboard.dashboard())["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < generate_dashboard.WIDTH


@pytest.fixture(scope="module")
def promtool(request: pytest.FixtureRequest) -> str:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        return str(binaries.find(["promtool"])["promtool"])


def test_prometheus_reads_the_rules_and_the_queries_of_the_dashboard(
    promtool: str, tmp_path: Path
) -> None:
    queries = [
        query.replace("$__rate_interval", "5m").replace("$namespace", ".*")
        for query in generate_dashboard.expressions()
    ]
    recorded = [{"record": f"panel{number}", "expr": query} for number, query in enumerate(queries)]
    rules = tmp_path / "rules.yaml"
    groups = [*groups_of(WATCHED), {"name": "dashboard", "rules": recorded}]
    rules.write_text(yaml.safe_dump({"groups": groups}))
    said = run(promtool, "check", "rules", str(rules))
    told = sum(len(group["rules"]) for group in groups)
    assert f"{told} rules found" in said


class Empty(Collector):
    """Device-seconds of a cluster without claims."""

    def collect(self) -> Iterator[Metric]:
        yield from UsageController.describe()


def test_prometheus_finds_nothing_to_criticize_in_the_metrics(promtool: str) -> None:
    census = CollectorRegistry()
    census.register(ClaimCollector(ClusterState()))
    devices = DeviceCollector(dict, infos=True)
    devices.counts = DeviceCounts({}, {})
    census.register(devices)
    used = CollectorRegistry()
    used.register(Empty())
    scraped = b"".join(map(generate_latest, (REGISTRY, reviews.REGISTRY, census, used)))
    done = subprocess.run(
        [promtool, "check", "metrics"], input=scraped, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_webhook_exports_nothing_of_controllers_and_no_process_times_of_creation() -> None:
    metrics.REQUESTS.labels("200", "GET").inc()
    operator, webhook = (generate_latest(one).decode() for one in (REGISTRY, OF_EACH_PROCESS))
    assert 'rest_client_requests_total{code="200",method="GET"}' in webhook
    assert "process_resident_memory_bytes" in webhook
    for name in ("preemption", "evictions", "pool_status", "findings", "leader_election"):
        assert name in operator
        assert name not in webhook
    assert "_created" not in operator + webhook + generate_latest(reviews.REGISTRY).decode()


FIRING: dict[str, tuple[str, str, str]] = {
    "nobody leads": (
        "DragomanOperatorNotLeading",
        'leader_election_master_status{namespace="dragoman-system", name="dragoman-operator"}',
        "0x90",
    ),
    "a pod waits for long": (
        "DragomanPodsWaitForClaims",
        'dragoman_oldest_waiting_pod_seconds{namespace="dragoman-system"}',
        "301+60x90",
    ),
    "devices are held by nobody": (
        "DragomanDevicesHeldByNobody",
        'dragoman_resource_claims{namespace="dragoman-system", allocated="true", reserved="false"}',
        "2x90",
    ),
    "findings are older than an hour": (
        "DragomanFindingsOverdue",
        'dragoman_findings_timestamp_seconds{namespace="dragoman-system"}',
        "-7200x90",
    ),
    "a pool is incomplete": (
        "DragomanPoolIncomplete",
        'dragoman_device_pools{namespace="dragoman-system", driver="d", state="Incomplete"}',
        "1x90",
    ),
    "devices are lost": (
        "DragomanDevicesLost",
        'dragoman_devices{namespace="dragoman-system", driver="d", class="c", state="lost"}',
        "1x90",
    ),
    "preemptions are paused": (
        "DragomanPreemptionPaused",
        'dragoman_preemption_paused{namespace="dragoman-system", reason="failures"}',
        "1x90",
    ),
    "preemptions fail": (
        "DragomanPreemptionFails",
        'dragoman_preemption_plans_total{namespace="dragoman-system", outcome="lost"}',
        "0+1x90",
    ),
    "reservations stay": (
        "DragomanReservationsStuck",
        'dragoman_preemption_reserved_devices{namespace="dragoman-system"}',
        "2x90",
    ),
    "writes fail": (
        "DragomanClaimWritesFail",
        (
            'dragoman_actions_total{namespace="dragoman-system", action="PublishClaims", '
            'outcome="failed"}'
        ),
        "0+60x90",
    ),
    "requests fail": (
        "DragomanRequestsFail",
        'rest_client_requests_total{namespace="dragoman-system", container="operator", code="500"}',
        "0+60x90",
    ),
    "reviews fail": (
        "DragomanWebhookErrors",
        'dragoman_webhook_requests_refused_total{namespace="dragoman-system", code="503"}',
        "0+6x90",
    ),
    "a certificate ends": (
        "DragomanCertificateExpires",
        'dragoman_webhook_certificate_expiry_timestamp_seconds{namespace="dragoman-system"}',
        "86400x90",
    ),
    "a claim in use does nothing": (
        "DragomanDevicesIdleButHeld",
        'dragoman:claim_idle:bool{namespace="ml", claim="a", class="gpu"}',
        "1x200",
    ),
    "a schema is broken": (
        "DragomanSchemaBroken",
        'dragoman_schema_errors{namespace="dragoman-system", driver="gpu.nvidia.com"}',
        "3x90",
    ),
}


@pytest.mark.parametrize(("alert", "series", "values"), FIRING.values(), ids=FIRING)
def test_an_alert_fires_when(
    promtool: str, tmp_path: Path, alert: str, series: str, values: str
) -> None:
    assert fires(promtool, tmp_path, alert, series, values)


FINDINGS = [str(key) for key, level in SEVERITIES.items() if level is Severity.ERROR]


@pytest.mark.parametrize("finding", FINDINGS)
def test_an_error_among_the_findings_has_an_alert(
    promtool: str, tmp_path: Path, finding: str
) -> None:
    alert = f"DragomanFinding{finding}"
    series = f'dragoman_findings{{namespace="dragoman-system", finding="{finding}"}}'
    assert fires(promtool, tmp_path, alert, series, "1x90")
    assert not fires(promtool, tmp_path, alert, series, "0x90")


QUIET: dict[str, tuple[str, str, str]] = {
    "somebody leads": (
        "DragomanOperatorNotLeading",
        'leader_election_master_status{namespace="dragoman-system", name="dragoman-operator"}',
        "1x90",
    ),
    "a pod has waited for a minute": (
        "DragomanPodsWaitForClaims",
        'dragoman_oldest_waiting_pod_seconds{namespace="dragoman-system"}',
        "60x90",
    ),
    "writes are done": (
        "DragomanClaimWritesFail",
        (
            'dragoman_actions_total{namespace="dragoman-system", action="PublishClaims", '
            'outcome="done"}'
        ),
        "0+60x90",
    ),
    "findings are ten minutes old": (
        "DragomanFindingsOverdue",
        'dragoman_findings_timestamp_seconds{namespace="dragoman-system"}',
        "0+60x90",
    ),
    "all pools are complete": (
        "DragomanPoolIncomplete",
        'dragoman_device_pools{namespace="dragoman-system", driver="d", state="Complete"}',
        "9x90",
    ),
    "a pool is incomplete while a driver publishes": (
        "DragomanPoolIncomplete",
        'dragoman_device_pools{namespace="dragoman-system", driver="d", state="Incomplete"}',
        "1x10 0x80",
    ),
    "no device is lost": (
        "DragomanDevicesLost",
        'dragoman_devices{namespace="dragoman-system", driver="d", class="c", state="free"}',
        "9x90",
    ),
    "a claim that did nothing is used again": (
        "DragomanDevicesIdleButHeld",
        'dragoman:claim_idle:bool{namespace="ml", claim="a", class="gpu"}',
        "1x60 0 1x90",
    ),
    "nothing is wrong with a schema": (
        "DragomanSchemaBroken",
        'dragoman_schema_errors{namespace="dragoman-system", driver="gpu.nvidia.com"}',
        "0x90",
    ),
}


@pytest.mark.parametrize(("alert", "series", "values"), QUIET.values(), ids=QUIET)
def test_an_alert_does_not_fire_when(
    promtool: str, tmp_path: Path, alert: str, series: str, values: str
) -> None:
    assert not fires(promtool, tmp_path, alert, series, values)


TWINS = {
    "DragomanPoolIncomplete": "a pool is incomplete",
    "DragomanDevicesLost": "devices are lost",
}


@pytest.mark.parametrize("alert", TWINS)
def test_one_fault_has_one_alert(promtool: str, tmp_path: Path, alert: str) -> None:
    checked = 'dragoman_findings_timestamp_seconds{namespace="dragoman-system"}'
    assert not fires(promtool, tmp_path, *FIRING[TWINS[alert]], others={checked: "0+60x90"})
    # Findings that are not looked for any more do not stand in for the alert.
    assert fires(promtool, tmp_path, *FIRING[TWINS[alert]], others={checked: "1x90"})


def test_only_what_cannot_wait_until_the_morning_is_critical() -> None:
    critical = {one["alert"] for one in alerts(WATCHED) if one["labels"]["severity"] == "critical"}
    assert "DragomanFindingWebhookMissing" not in critical
    assert {"DragomanOperatorNotLeading", "DragomanWebhookDown"} <= critical


def fires(
    promtool: str,
    folder: Path,
    alert: str,
    series: str,
    values: str,
    *,
    others: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Whether an alert fires 80 minutes after some series began, or 140 where it waits for long."""
    (rule,) = [rule for rule in alerts(WATCHED) if rule["alert"] == alert]
    rule = {"alert": alert, "expr": rule["expr"], "for": rule.get("for", "0s")}
    (folder / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "tried", "rules": [rule]}]})
    )
    # An alert that is expected to be quiet: promtool complains, and says which fire.
    test: Json = {
        "interval": "1m",
        "input_series": [
            {"series": name, "values": given} for name, given in {series: values, **others}.items()
        ],
        "alert_rule_test": [
            {
                "eval_time": "140m" if rule["for"] == "2h" else "80m",
                "alertname": alert,
                "exp_alerts": [],
            }
        ],
    }
    (folder / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]})
    )
    done = subprocess.run(
        [promtool, "test", "rules", "test.yaml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or "alertname: " in done.stderr + done.stdout, done.stderr
    return done.returncode != 0


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alerts(values: Values) -> list[Json]:
    """Return the alerts of an installation that has them."""
    return [rule for group in groups_of(values) for rule in group["rules"] if "alert" in rule]


def groups_of(values: Values) -> list[Json]:
    monitoring: Any = values.get("monitoring", {})
    rules = {"enabled": True, **monitoring.get("prometheusRule", {})}
    asked = {**monitoring, "renderMode": "alwaysRender", "prometheusRule": rules}
    rendered = render({**values, "monitoring": asked})
    listed: list[Json] = one(rendered, "PrometheusRule", "dragoman")["spec"]["groups"]
    return listed
