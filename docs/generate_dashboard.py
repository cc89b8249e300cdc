"""Write the Grafana dashboard of the chart: `python docs/generate_dashboard.py`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "charts/dragoman/files/dashboard.json"
WIDTH, HEIGHT = 24, 8
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
IN = 'namespace=~"$namespace"'


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Attributes:
        title: What it shows.
        description: How to read it.
        queries: PromQL by legend.
        kind: `timeseries`, `stat` or `table`.
        unit: Grafana's name of a unit.
        width: Of 24 columns.
        stacked: Whether its lines add up to something.
    """

    title: str
    description: str
    queries: dict[str, str]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12
    stacked: bool = False


def quantile(share: float, metric: str, by: str = "le") -> str:
    """Return the PromQL of a quantile of a histogram."""
    rate = f"rate({metric}_bucket{{{IN}}}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by ({by}) ({rate}))"


def rate(metric: str, by: str, labels: str = "") -> str:
    """Return the PromQL of a counter's rate, added up by some labels."""
    chosen = f"{IN}, {labels}" if labels else IN
    return f"sum by ({by}) (rate({metric}{{{chosen}}}[$__rate_interval]))"


# Replicas each count all claims; the largest count is that of one that has seen everything.
CLAIMS = f"max by (allocated, reserved, source) (dragoman_resource_claims{{{IN}}})"
HELD_BY_NOBODY = (
    f'max(sum by (pod) (dragoman_resource_claims{{{IN}, allocated="true", reserved="false"}}))'
)
# The driver's exporter reports which device a pod uses; the claim comes from
# kube-state-metrics. `label_replace` only where the exporter calls the pod otherwise.
HOLDERS = (
    'group by (namespace, pod, Hostname, device, UUID, modelName) (DCGM_FI_DEV_GPU_UTIL{pod!=""})'
    " * on (namespace, pod) group_left ()"
    " group by (namespace, pod) (kube_pod_resourceclaim_info)"
)
DEVICES = f'max by (driver, class) (dragoman_devices{{{{{IN}, state="{{}}"}}}})'
UTILIZATION = "max by (namespace, claim, class) (dragoman:claim_utilization:ratio)"
CLAIMS_OF_PODS = "count by (namespace, pod) (kube_pod_resourceclaim_info)"

ROWS: dict[str, tuple[Panel, ...]] = {
    "Claims": (
        Panel(
            "Mode",
            "own: the only claim controller. assist: acts where another controller failed.",
            {"{{mode}}": f"max by (mode) (dragoman_claims_mode{{{IN}}}) == 1"},
            kind="stat",
            width=4,
        ),
        Panel(
            "Pods waiting for claims",
            "Live pods whose status does not name all claims yet.",
            {"pods": f"max(dragoman_waiting_pods{{{IN}}})"},
            kind="stat",
            width=4,
        ),
        Panel(
            "Oldest waiting pod",
            "Time since its creation.",
            {"age": f"max(dragoman_oldest_waiting_pod_seconds{{{IN}}})"},
            kind="stat",
            unit="s",
            width=4,
        ),
        Panel(
            "Allocated, unreserved claims",
            "Allocated claims with an empty reservedFor; a lasting value is a leak of devices.",
            {"claims": HELD_BY_NOBODY},
            kind="stat",
            width=4,
        ),
        Panel(
            "Leader",
            "Replicas that hold the Lease; the normal value is 1.",
            {"leaders": f'sum(leader_election_master_status{{{IN}, name="dragoman-operator"}})'},
            kind="stat",
            width=4,
        ),
        Panel(
            "Faults of another controller",
            "In the last hour.",
            {
                "{{fault}}": "sum by (fault) "
                f"(increase(dragoman_other_controller_faults_total{{{IN}}}[1h]))"
            },
            kind="stat",
            width=4,
        ),
        Panel(
            "Claims by state",
            "Claims by allocation, reservation and source.",
            {"{{source}}, allocated {{allocated}}, reserved {{reserved}}": CLAIMS},
            stacked=True,
        ),
        Panel(
            "Time until a pod's status names its claims",
            "Measured from the pod's creation; creation times have a resolution of one second.",
            {
                "median": quantile(0.5, "dragoman_claim_publication_seconds"),
                "p99": quantile(0.99, "dragoman_claim_publication_seconds"),
            },
            unit="s",
        ),
        Panel(
            "Writes",
            "Writes of the operator, by action and outcome.",
            {"{{action}} {{outcome}}": rate("dragoman_actions_total", "action, outcome")},
            unit="ops",
        ),
        Panel(
            "Work queue",
            "Keys that wait for a worker, and their waiting time.",
            {
                "keys": f'sum(workqueue_depth{{{IN}, name="claims"}})',
                "p99 in seconds": quantile(0.99, "workqueue_queue_duration_seconds"),
            },
        ),
    ),
    "Devices": (
        Panel(
            "Free devices",
            "Devices that a claim without tolerations can have, by DeviceClass. This row has data "
            "where the operator runs with --explain-events or --device-metrics.",
            {"{{class}}": f"sum by (class) ({DEVICES.format('free')})"},
            kind="stat",
            width=8,
        ),
        Panel(
            "Pods waiting for devices",
            "Pods that the scheduler rejects, by what most nodes lack.",
            {"{{reason}}": f"max by (reason) (dragoman_pods_waiting_for_devices{{{IN}}})"},
            stacked=True,
            width=16,
        ),
        Panel(
            "Devices by state",
            "All classes together; a device counts in each of its classes.",
            {
                "{{state}}": "sum by (state) "
                f"(max by (driver, class, state) (dragoman_devices{{{IN}}}))"
            },
            stacked=True,
        ),
        Panel(
            "Lost devices, and pools that do not count",
            "Allocated devices in no ResourceSlice, and pools whose slices are missing or wrong.",
            {
                "{{driver}} lost": f"sum by (driver) ({DEVICES.format('lost')}) > 0",
                "{{driver}} {{state}}": "max by (driver, state) "
                f'(dragoman_device_pools{{{IN}, state!="Complete"}}) > 0',
            },
        ),
    ),
    "Use of devices (metrics.devices and metrics.rules of the chart)": (
        Panel(
            "Utilization by claim",
            "Mean of the claim's devices; claims that have used theirs for less than 1 % in the "
            "last hour come first.",
            {"": f"sort({UTILIZATION})"},
            kind="table",
        ),
        Panel(
            "Utilization by class",
            "Mean of the claims of each DeviceClass.",
            {"{{class}}": "avg by (class) (dragoman:claim_utilization:ratio)"},
            unit="percentunit",
        ),
        Panel(
            "Idle but held",
            "Claims with devices that were used for less than 1 % in the last hour.",
            {"{{namespace}} {{class}}": "sum by (namespace, class) (dragoman:claim_idle:bool) > 0"},
            stacked=True,
            width=8,
        ),
        Panel(
            "Device-hours by namespace",
            "Devices times hours for which they were allocated, in each hour.",
            {
                "{{namespace}}": "sum by (namespace) "
                "(increase(dragoman:device_seconds:total[1h])) / 3600"
            },
            stacked=True,
            width=8,
        ),
        Panel(
            "Waiting hours by namespace",
            "Hours for which claims of pods without scheduling gates had no devices, in each hour.",
            {
                "{{namespace}}": "sum by (namespace) "
                "(increase(dragoman:claim_waiting_seconds:total[1h])) / 3600"
            },
            stacked=True,
            width=8,
        ),
    ),
    "Preemption": (
        Panel(
            "Preemptions",
            "Plans for pods that wait, and preemptions that ended, by outcome. This row has data "
            "where preemption.mode is report or on.",
            {"{{outcome}}": rate("dragoman_preemption_plans_total", "outcome")},
            unit="ops",
        ),
        Panel(
            "Evictions for others, and reserved devices",
            "What the Eviction API answered, and devices that only a waiting pod may get.",
            {
                "{{outcome}}": rate("dragoman_preemption_victims_total", "outcome"),
                "reserved": f"max(dragoman_preemption_reserved_devices{{{IN}}})",
            },
        ),
    ),
    "Webhook": (
        Panel(
            "Verdicts",
            "Reviews of claims, templates, classes and schemas.",
            {
                "{{verdict}} {{resource}}": rate(
                    "dragoman_webhook_reviews_total", "verdict, resource"
                )
            },
            unit="reqps",
            stacked=True,
        ),
        Panel(
            "Findings by driver",
            "Reviews with errors or warnings.",
            {"{{driver}} {{verdict}}": rate("dragoman_webhook_findings_total", "driver, verdict")},
            unit="reqps",
        ),
        Panel(
            "Duration of reviews",
            "The API server stops waiting after timeoutSeconds of the webhook.",
            {
                "median": quantile(0.5, "dragoman_webhook_review_duration_seconds"),
                "p99": quantile(0.99, "dragoman_webhook_review_duration_seconds"),
            },
            unit="s",
        ),
        Panel(
            "Failed requests",
            "Requests that the webhook answered with an HTTP error, by status.",
            {"{{code}}": rate("dragoman_webhook_requests_refused_total", "code")},
            unit="reqps",
            width=6,
        ),
        Panel(
            "Certificate expiry",
            "Time until the serving certificate expires.",
            {
                "{{pod}}": "min by (pod) "
                f"(dragoman_webhook_certificate_expiry_timestamp_seconds{{{IN}}}) - time()"
            },
            kind="stat",
            unit="s",
            width=6,
        ),
    ),
    "Schemas": (
        Panel(
            "Schemas that do not compile",
            "Errors by driver; the last valid generation stays active.",
            {"{{driver}}": f"max by (driver) (dragoman_schema_errors{{{IN}}}) > 0"},
            kind="stat",
            width=8,
        ),
        Panel(
            "Violations in stored objects",
            "Result of the last audit.",
            {
                "{{driver}} {{kind}}": "max by (driver, kind) "
                f"(dragoman_audit_violations{{{IN}}}) > 0"
            },
            width=8,
        ),
        Panel(
            "Time since the last audit",
            "An audit runs every ten minutes.",
            {"age": f"time() - max(dragoman_audit_timestamp_seconds{{{IN}}})"},
            kind="stat",
            unit="s",
            width=8,
        ),
    ),
    "Which pod holds which device": (
        Panel(
            "GPUs of pods with claims",
            "Joined from NVIDIA's DCGM exporter (labels of pods turned on) and kube-state-metrics "
            "2.20 or newer; see the README of the chart for other exporters.",
            {"": HOLDERS},
            kind="table",
            width=16,
        ),
        Panel(
            "Claims of pods",
            "From kube-state-metrics 2.20 or newer.",
            {"": CLAIMS_OF_PODS},
            kind="table",
            width=8,
        ),
    ),
    "Process": (
        Panel(
            "Requests to the API server",
            "By HTTP status; 0: no response.",
            {
                "{{code}} {{method}}": rate(
                    "rest_client_requests_total", "code, method", 'container=~"operator|webhook"'
                )
            },
            unit="reqps",
            width=8,
        ),
        Panel(
            "Memory",
            "Resident memory.",
            {"{{pod}}": f'process_resident_memory_bytes{{{IN}, container=~"operator|webhook"}}'},
            unit="bytes",
            width=8,
        ),
        Panel(
            "Event loop lag",
            "99th percentile of one measurement per second.",
            {"lag": quantile(0.99, "dragoman_event_loop_lag_seconds")},
            unit="s",
            width=8,
        ),
    ),
}


def dashboard() -> str:
    """Return the dashboard as Grafana reads it."""
    document = {
        "title": "dragoman",
        "uid": "dragoman",
        "tags": ["kubernetes", "dra"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [_source(), _namespace()]},
        "panels": list(_panels()),
    }
    return json.dumps(document, indent=1) + "\n"


def expressions() -> Iterator[str]:
    """Yield the PromQL of every panel."""
    for panels in ROWS.values():
        for panel in panels:
            yield from panel.queries.values()


def _source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus"}


def _namespace() -> dict[str, Any]:
    return {
        "name": "namespace",
        "label": "Namespace of dragoman",
        "type": "query",
        "datasource": SOURCE,
        "query": {
            "query": "label_values(dragoman_webhook_reviews_in_flight, namespace)",
            "refId": "n",
        },
        "includeAll": True,
        "allValue": ".*",
        "refresh": 2,
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
        }
        top, left = top + 1, 0
        for panel in panels:
            if left + panel.width > WIDTH:
                top, left = top + HEIGHT, 0
            number += 1
            yield _panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": HEIGHT})
            left += panel.width
        top += HEIGHT


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    table = panel.kind == "table"
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 20} if panel.stacked else {}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": custom}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": expression,
                "legendFormat": legend,
                **({"format": "table", "instant": True} if table else {}),
            }
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
        **({"options": {"textMode": "value_and_name"}} if panel.kind == "stat" else {}),
    }


if __name__ == "__main__":
    FILE.write_text(dashboard())
