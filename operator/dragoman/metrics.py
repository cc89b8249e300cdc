"""What the operator counts. Labels have few, known values; none of these has names of objects.

Metrics that are counted while they are scraped are in `controllers.claims.collector` and
`controllers.explain.collector`: of these, `dragoman_device_info` names devices and pods where it is
asked for.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Self

try:
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        PlatformCollector,
        ProcessCollector,
        disable_created_metrics,
    )
except ModuleNotFoundError:
    # Only what users' commands need is installed: they count, and serve nothing.
    class _Uncounted:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __call__(self, *_: Any, **__: Any) -> Self:
            return self

        def __getattr__(self, _: str) -> Self:
            return self

    CollectorRegistry = PlatformCollector = ProcessCollector = _Uncounted  # type: ignore[assignment,misc]
    Counter = Gauge = Histogram = _Uncounted  # type: ignore[assignment,misc]
    disable_created_metrics = _Uncounted()

# They would be a series of their own for each counter and histogram.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry(auto_describe=True)
"""What an operator counts."""
OF_EACH_PROCESS = CollectorRegistry(auto_describe=True)
"""The part of it that a process without controllers counts, as the webhook."""
for _registry in (REGISTRY, OF_EACH_PROCESS):
    ProcessCollector(registry=_registry)
    PlatformCollector(registry=_registry)
_counter = partial(Counter, registry=REGISTRY)
_gauge = partial(Gauge, registry=REGISTRY)
_histogram = partial(Histogram, registry=REGISTRY)

MAINTENANCE_STATES = ("in-use", "idle", "expired", "failed")
COPY_STATES = ("current", "missing", "unverified", "outdated", "conflict", "unwanted", "leaving")
DURATIONS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = _counter(
    "rest_client_requests_total",
    "Requests to the API server, by HTTP status (0: no answer) and method.",
    ["code", "method"],
)
REQUEST_DURATION = _histogram(
    "rest_client_request_duration_seconds",
    "How long requests to the API server took, by method.",
    ["method"],
    buckets=DURATIONS,
)
QUEUE_DEPTH = _gauge("workqueue_depth", "Keys that wait for a worker.", ["name"])
QUEUE_ADDS = _counter("workqueue_adds_total", "Keys put into the queue.", ["name"])
QUEUE_RETRIES = _counter("workqueue_retries_total", "Keys put back after a failure.", ["name"])
QUEUE_DURATION = _histogram(
    "workqueue_queue_duration_seconds",
    "How long keys waited for a worker.",
    ["name"],
    buckets=DURATIONS,
)
WORK_DURATION = _histogram(
    "workqueue_work_duration_seconds",
    "How long workers took for a key.",
    ["name"],
    buckets=DURATIONS,
)
ACTIONS = _counter(
    "dragoman_actions_total",
    "Writes for the life-cycle of claims, by action, reason and outcome.",
    ["action", "reason", "outcome"],
)
CLAIM_CREATES = _counter(
    "dragoman_resource_claim_creates_total",
    "Creations of ResourceClaims, by status (success, failure), whether they ask for admin access, "
    "and kind of the owner (Pod, or PodGroup of scheduling.k8s.io), with the labels of the "
    "built-in controller's metric.",
    ["status", "admin_access", "owner_api_group", "owner_api_kind"],
)
LEADER = _gauge(
    "leader_election_master_status", "1 on the replica that leads, 0 on the others.", ["name"]
)
MODE = _gauge(
    "dragoman_claims_mode", "1 for the mode that is in force, 0 for the others.", ["mode"]
)
FAULTS = _counter(
    "dragoman_other_controller_faults_total",
    "Faults of another claim controller that were seen, by fault.",
    ["fault"],
)
UNSAFE_DEPARTURES = _counter(
    "dragoman_unsafe_departures_total",
    "Pods with claims that left the API before their containers had ended, with --safe-release.",
)
PUBLISHED = _histogram(
    "dragoman_claim_publication_seconds",
    "Time from a pod's creation until its status names its claims. Creation times of the API "
    "have a resolution of one second.",
    buckets=(1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800),
)
EVICTIONS = _counter(
    "dragoman_evictions_total",
    "Pods that had to leave tainted devices, by mode and outcome (evicted; already-deleting, gone "
    "and finished need no deletion).",
    ["mode", "outcome"],
)
EVICTION_DELAY = _histogram(
    "dragoman_eviction_delay_seconds",
    "Time from when a pod had to leave a tainted device until it was deleted. Times of taints have "
    "a resolution of one second.",
    buckets=(0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 240),
)
PODS_TO_EVICT = _gauge(
    "dragoman_pods_to_evict",
    "Pods that must leave tainted devices, now or when their tolerationSeconds end.",
)
TAINT_RULES_SERVED = _gauge(
    "dragoman_devicetaintrules_served",
    "1 while the API server serves DeviceTaintRules, 0 while only taints of drivers count.",
)
EVICTIONS_BLOCKED = _gauge(
    "dragoman_evictions_blocked",
    "1 while --evictions=own does nothing, because another controller still evicts pods.",
)
MAINTENANCES = _gauge(
    "dragoman_device_maintenances",
    "DeviceMaintenances by state: in-use (claims have devices, or new claims can get them), idle, "
    "expired, failed (spec.target.where does not compile, or the API server rejects holds).",
    ["state"],
)
MAINTENANCE_EVICTIONS = _counter(
    "dragoman_maintenance_evictions_total",
    "Evictions of pods for DeviceMaintenances, by outcome (evicted; refused, counted once for each "
    "answer of the Eviction API that differs from the one before).",
    ["outcome"],
)
POOL_STATUS_ANSWERS = _counter(
    "dragoman_pool_status_answers_total",
    "Answered ResourcePoolStatusRequests, by outcome (complete; incomplete: slices were missing).",
    ["outcome"],
)
POOL_STATUS_DURATION = _histogram(
    "dragoman_pool_status_seconds",
    "How long the computation of an answer to a ResourcePoolStatusRequest took.",
    buckets=DURATIONS,
)
LOG_RECORDS_LOST = _counter(
    "dragoman_log_records_lost_total",
    "Log records that were not written, by reason (queue_full: the reader stalls; write_failed: "
    "the disk is full or the reader has ended; rate_limited: a client causes too many).",
    ["reason"],
)
LOOP_LAG = _histogram(
    "dragoman_event_loop_lag_seconds",
    "How late the event loop was, measured each second.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
WATCHES_OPENED = _counter(
    "dragoman_watches_opened_total", "Watches opened, each a list or its continuation."
)
WATCH_DROPPED = _counter(
    "dragoman_watch_dropped_events_total",
    "Events about pods without claims, dropped before they were parsed.",
)
WATCH_RESTARTS = _counter(
    "dragoman_watch_restarts_total",
    "Watches that ended in a way that needs a new list, by cause.",
    ["cause"],
)
EVENTS_DROPPED = _counter(
    "dragoman_events_dropped_total",
    "Events that were not posted because too many of their namespace, or at all, were waiting.",
)
for _common in (
    REQUESTS, REQUEST_DURATION, LOG_RECORDS_LOST, LOOP_LAG, WATCHES_OPENED, WATCH_DROPPED,
    WATCH_RESTARTS,
):  # fmt: skip
    OF_EACH_PROCESS.register(_common)


@cache
def _request(method: str, code: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(str(code), method), REQUEST_DURATION.labels(method)


@cache
def _action(action: str, reason: str, outcome: str) -> Counter:
    return ACTIONS.labels(action, reason, outcome)


SCHEMA_ERRORS = _gauge(
    "dragoman_schema_errors",
    "Faults for which DriverConfigSchemas of a driver do not compile.",
    ["driver"],
)
CATALOG_ERRORS = _gauge(
    "dragoman_catalog_errors",
    "Settings and objects of the catalog that do not take effect.",
    ["driver"],
)
AUDIT_CHECKED = _gauge(
    "dragoman_audit_checked_objects",
    "Stored objects with configs of a driver, by driver and kind, at the last audit.",
    ["driver", "kind"],
)
AUDIT_VIOLATIONS = _gauge(
    "dragoman_audit_violations",
    "Violations in stored objects, by driver and kind, at the last audit.",
    ["driver", "kind"],
)
AUDIT_TIME = _gauge("dragoman_audit_timestamp_seconds", "When the last audit ended, as Unix time.")
FINDINGS = _gauge(
    "dragoman_findings",
    "What `kubectl dra doctor` finds, by finding, at the last check; on the leader only.",
    ["finding"],
)
FINDINGS_TIME = _gauge(
    "dragoman_findings_timestamp_seconds", "When the last check ended, as Unix time."
)
PREEMPTION_PLANS = _counter(
    "dragoman_preemption_plans_total",
    "Plans for pods that wait for devices: reported where pods could end for them, refused where "
    "none can. Preemptions that ended: placed, lost (pods were evicted, and the pod has no node), "
    "aborted.",
    ["outcome"],
)
PREEMPTION_SECONDS = _histogram(
    "dragoman_preemption_seconds",
    "CPU time of the plans of one pass over the pods that wait.",
    ["phase"],
    buckets=DURATIONS,
)
PREEMPTION_CANDIDATES = _gauge(
    "dragoman_preemption_candidates",
    "Pods that wait for devices and would fit if pods of lower priority ended; on the leader only.",
)
PREEMPTION_VICTIMS = _counter(
    "dragoman_preemption_victims_total",
    "Evictions for pods of higher priority, by what the Eviction API answered: evicted, refused.",
    ["outcome"],
)
PREEMPTION_RESERVED = _gauge(
    "dragoman_preemption_reserved_devices",
    "Devices that are reserved for pods of higher priority; on the leader only.",
)
PREEMPTION_PAUSED = _gauge(
    "dragoman_preemption_paused",
    "1 where plans are only reported in mode on, by reason: failures (three preemptions failed in "
    "a row), in-tree (the scheduler preempts for devices itself), rules (DeviceTaintRules are not "
    "served).",
    ["reason"],
)
CLUSTER_TEMPLATE_COPIES = _gauge(
    "dragoman_cluster_template_namespaces",
    "Namespaces of all ClusterResourceClaimTemplates, by the state of the copy: current, missing, "
    "unverified (its spec is not compared yet), outdated, conflict (an own template of the name "
    "stays), unwanted, leaving.",
    ["state"],
)
_COPIES: dict[str, Mapping[str, int]] = {}


def cluster_template_copies(name: str, states: Mapping[str, int]) -> None:
    """Count the namespaces of one ClusterResourceClaimTemplate by state; none for a deleted one."""
    _COPIES.pop(name, None)
    if states:
        _COPIES[name] = states
    for state in COPY_STATES:
        total = sum(counts.get(state, 0) for counts in _COPIES.values())
        CLUSTER_TEMPLATE_COPIES.labels(state).set(total)


def device_maintenances(states: Mapping[str, int]) -> None:
    """Count the DeviceMaintenances by state."""
    for state in MAINTENANCE_STATES:
        MAINTENANCES.labels(state).set(states.get(state, 0))


def request_done(method: str, code: int, seconds: float) -> None:
    """Count a request to the API server."""
    counter, histogram = _request(method, code)
    counter.inc()
    histogram.observe(seconds)


def claim_created(status: str, *, admin_access: bool, for_pod: bool) -> None:
    """Count an attempt to create a ResourceClaim for a pod, or else for a PodGroup."""
    owner = ("", "Pod") if for_pod else ("scheduling.k8s.io", "PodGroup")
    CLAIM_CREATES.labels(status, str(admin_access).lower(), *owner).inc()


def action_done(action: str, reason: str, outcome: str) -> None:
    """Count a write for the life-cycle of claims."""
    _action(action, reason, outcome).inc()
