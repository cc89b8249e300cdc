"""Write docs/metrics.md and docs/reasons.md from the code: `python docs/generate_reference.py`."""

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import Metric

from dragoman.claims.reasons import ClaimReason
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.controllers.claims.events import EVENT_REASONS
from dragoman.controllers.claims.othercontroller import ControllerFault
from dragoman.controllers.explain.collector import DeviceCollector
from dragoman.controllers.explain.usage import UsageController
from dragoman.metrics import REGISTRY
from dragoman_webhooks import metrics as reviews

DOCS = Path(__file__).parent

METRICS_HEAD = """\
# Metrics

Served at `/metrics` of `--metrics-address`. Labels never contain names of objects or
namespaces, except for DeviceClasses and, with `--device-metrics`, the metric
`dragoman_device_info` and the seconds by namespace. `python docs/generate_reference.py` generates
this page; a test compares it.

| metric | type | meaning |
|---|---|---|
"""

IN_TREE = """
## Equivalents of the built-in controller's metrics

| built-in controller | dragoman |
|---|---|
| `dynamic_resource_allocation_resourceclaim_creates_total{status, admin_access, owner_api_group, \
owner_api_kind}` (1.37), `resourceclaim_controller_creates_total{status, admin_access}` \
(1.34 to 1.36) | \
`dragoman_resource_claim_creates_total{status, admin_access, owner_api_group, owner_api_kind}` |
| `dynamic_resource_allocation_resource_claims{allocated, admin_access, source}` (1.37), \
`resourceclaim_controller_resource_claims{allocated, admin_access, source}` (1.34 to 1.36) | \
`dragoman_resource_claims{allocated, reserved, source, admin_access}`; the built-in controller \
calls source `template` `resource_claim_template` and `extended` `extended_resource`, and leaves \
it empty for `user` |
| `workqueue_*{name="resource_claim"}` | `workqueue_*{name="claims"}` |
| `rest_client_requests_total{code, method, host}` | `rest_client_requests_total{code, method}` |
"""

REASONS_HEAD = """\
# Reasons

The operator gives a reason for each action and for each claim that it does not act on. Log lines
and `dragoman_actions_total` carry it as `reason`. If users need to act, the operator posts an Event
on the pod, PodGroup or claim, at most once per cause in two minutes.
`python docs/generate_reference.py` generates this page; a test compares it.

| reason | meaning | reason of its Event |
|---|---|---|
"""

FAULTS_HEAD = """
## Faults of another controller

The operator detects these faults in every mode, counts them in
`dragoman_other_controller_faults_total{fault}`, and posts an Event on the pod.

| fault | observed behavior |
|---|---|
"""

FAULTS = {
    ControllerFault.FLAPPING: (
        "The other controller keeps removing names of valid claims from pod status."
    ),
    ControllerFault.FINISHED: "The other controller creates a claim for a finished pod.",
    ControllerFault.DUPLICATE: "The other controller created a second claim for an entry.",
}

REPORTED = {
    ClaimReason.TEMPLATE_MISSING,
    ClaimReason.GROUP_MISSING,
    ClaimReason.ENTRY_UNSUPPORTED,
    ClaimReason.NAMES_TAKEN,
    ClaimReason.CREATION_FAILED,
    *EVENT_REASONS,
}


def metrics_page() -> str:
    """Return docs/metrics.md."""
    rows = sorted(set(_rows()))
    return METRICS_HEAD + "".join(rows) + IN_TREE


def reasons_page() -> str:
    """Return docs/reasons.md."""
    reasons = "".join(
        f'| <a id="{reason.value.lower()}"></a>`{reason.value}` | {reason.meaning} |'
        f" {_event(reason)} |\n"
        for reason in ClaimReason
    )
    faults = "".join(f"| `{fault.value}` | {FAULTS[fault]} |\n" for fault in ControllerFault)
    return REASONS_HEAD + reasons + FAULTS_HEAD + faults


def _rows() -> Iterator[str]:
    described = [
        *REGISTRY.collect(),
        *ClaimCollector(ClusterState()).describe(),
        *DeviceCollector(dict, infos=True).describe(),
        *UsageController.describe(),
        *reviews.REGISTRY.collect(),
    ]
    for metric in described:
        name = metric.name + ("_total" if metric.type == "counter" else "")
        if not name.startswith(("process_", "python_")):
            yield f"| `{name}` | {metric.type} | {_sentence(metric)} |\n"
    yield "| `process_*`, `python_info` | gauge | Process metrics of prometheus-client. |\n"


def _sentence(metric: Metric) -> str:
    return " ".join(metric.documentation.split())


def _event(reason: ClaimReason) -> str:
    if reason not in REPORTED:
        return ""
    return f"`{EVENT_REASONS.get(reason, ClaimReason.CREATION_FAILED.value)}`"


PAGES = {"metrics.md": metrics_page, "reasons.md": reasons_page}

if __name__ == "__main__":
    for page, render in PAGES.items():
        (DOCS / page).write_text(render())
