"""What the operator counts. Labels have few, known values; none of these has names of objects.

Metrics that are counted while they are scraped are in `controllers.claims.collector` and
`controllers.explain.collector`: of these, `dragoman_device_info` names devices and pods where it is
asked for.
"""

from collections.abc import Mapping
from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

MAINTENANCE_STATES = ("in-use", "idle", "expired", "failed")
COPY_STATES = ("current", "missing", "outdated", "conflict", "unwanted", "leaving")
DURATIONS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = Counter(
    "rest_client_requests_total",
    "Requests to the API server, by HTTP status (0: no answer) and method.",
    ["code", "method"],
    registry=REGISTRY,
)
REQUEST_DURATION = Histogram(
    "rest_client_request_duration_seconds",
    "How long requests to the API server took, by method.",
    ["method"],
    buckets=DURATIONS,
    registry=REGISTRY,
)
QUEUE_DEPTH = Gauge("workqueue_depth", "Keys that wait for a worker.", ["name"], registry=REGISTRY)
QUEUE_ADDS = Counter(
    "workqueue_adds_total", "Keys put into the queue.", ["name"], registry=REGISTRY
)
QUEUE_RETRIES = Counter(
    "workqueue_retries_total", "Keys put back after a failure.", ["name"], registry=REGISTRY
)
QUEUE_DURATION = Histogram(
    "workqueue_queue_duration_seconds",
    "How long keys waited for a worker.",
    ["name"],
    buckets=DURATIONS,
    registry=REGISTRY,
)
WORK_DURATION = Histogram(
    "workqueue_work_duration_seconds",
    "How long workers took for a key.",
    ["name"],
    buckets=DURATIONS,
    registry=REGISTRY,
)
ACTIONS = Counter(
    "dragoman_actions_total",
    "Writes for the life-cycle of claims, by action, reason and outcome.",
    ["action", "reason", "outcome"],
    registry=REGISTRY,
)
CLAIM_CREATES = Counter(
    "dragoman_resource_claim_creates_total",
    "Creations of ResourceClaims, by status (success, failure), whether they ask for admin access, "
    "and kind of the owner (Pod, or PodGroup of scheduling.k8s.io), with the labels of the stock "
    "controller's metric.",
    ["status", "admin_access", "owner_api_group", "owner_api_kind"],
    registry=REGISTRY,
)
LEADER = Gauge(
    "leader_election_master_status",
    "1 on the replica that leads, 0 on the others.",
    ["name"],
    registry=REGISTRY,
)
MODE = Gauge(
    "dragoman_claims_mode",
    "1 for the mode that is in force, 0 for the others.",
    ["mode"],
    registry=REGISTRY,
)
FAULTS = Counter(
    "dragoman_other_controller_faults_total",
    "Faults of another claim controller that were seen, by fault.",
    ["fault"],
    registry=REGISTRY,
)
PUBLISHED = Histogram(
    "dragoman_claim_publication_seconds",
    "Time from a pod's creation until its status names its claims. Creation times of the API "
    "have a resolution of one second.",
    buckets=(1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800),
    registry=REGISTRY,
)
EVICTIONS = Counter(
    "dragoman_evictions_total",
    "Pods that had to leave tainted devices, by mode and outcome (evicted; already-deleting, gone "
    "and finished need no deletion).",
    ["mode", "outcome"],
    registry=REGISTRY,
)
EVICTION_DELAY = Histogram(
    "dragoman_eviction_delay_seconds",
    "Time from when a pod had to leave a tainted device until it was deleted. Times of taints have "
    "a resolution of one second.",
    buckets=(0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 240),
    registry=REGISTRY,
)
PODS_TO_EVICT = Gauge(
    "dragoman_pods_to_evict",
    "Pods that must leave tainted devices, now or when their tolerationSeconds end.",
    registry=REGISTRY,
)
TAINT_RULES_SERVED = Gauge(
    "dragoman_devicetaintrules_served",
    "1 while the API server serves DeviceTaintRules, 0 while only taints of drivers count.",
    registry=REGISTRY,
)
EVICTIONS_BLOCKED = Gauge(
    "dragoman_evictions_blocked",
    "1 while --evictions=own does nothing, because another controller still evicts pods.",
    registry=REGISTRY,
)
MAINTENANCES = Gauge(
    "dragoman_device_maintenances",
    "DeviceMaintenances by state: in-use (claims have devices, or new claims can get them), idle, "
    "expired, failed (spec.target.where does not compile, or the API server rejects holds).",
    ["state"],
    registry=REGISTRY,
)
MAINTENANCE_EVICTIONS = Counter(
    "dragoman_maintenance_evictions_total",
    "Evictions of pods for DeviceMaintenances, by outcome (evicted; refused, counted once for each "
    "answer of the Eviction API that differs from the one before).",
    ["outcome"],
    registry=REGISTRY,
)
POOL_STATUS_ANSWERS = Counter(
    "dragoman_pool_status_answers_total",
    "Answered ResourcePoolStatusRequests, by outcome (complete; incomplete: slices were missing).",
    ["outcome"],
    registry=REGISTRY,
)
POOL_STATUS_DURATION = Histogram(
    "dragoman_pool_status_seconds",
    "How long the computation of an answer to a ResourcePoolStatusRequest took.",
    buckets=DURATIONS,
    registry=REGISTRY,
)
LOG_RECORDS_LOST = Counter(
    "dragoman_log_records_lost_total",
    "Log records that were not written, by reason (queue_full: the reader stalls; write_failed: "
    "the disk is full or the reader has ended; rate_limited: a client causes too many).",
    ["reason"],
    registry=REGISTRY,
)
LOOP_LAG = Histogram(
    "dragoman_event_loop_lag_seconds",
    "How late the event loop was, measured each second.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
    registry=REGISTRY,
)
WATCHES_OPENED = Counter(
    "dragoman_watches_opened_total",
    "Watches opened, each a list or its continuation.",
    registry=REGISTRY,
)
WATCH_DROPPED = Counter(
    "dragoman_watch_dropped_events_total",
    "Events about pods without claims, dropped before they were parsed.",
    registry=REGISTRY,
)
WATCH_RESTARTS = Counter(
    "dragoman_watch_restarts_total",
    "Watches that ended in a way that needs a new list, by cause.",
    ["cause"],
    registry=REGISTRY,
)
EVENTS_DROPPED = Counter(
    "dragoman_events_dropped_total",
    "Events that were not posted because too many of their namespace, or at all, were waiting.",
    registry=REGISTRY,
)


@cache
def _request(method: str, code: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(str(code), method), REQUEST_DURATION.labels(method)


@cache
def _action(action: str, reason: str, outcome: str) -> Counter:
    return ACTIONS.labels(action, reason, outcome)


SCHEMA_ERRORS = Gauge(
    "dragoman_schema_errors",
    "Faults for which DriverConfigSchemas of a driver do not compile.",
    ["driver"],
    registry=REGISTRY,
)
CATALOGUE_ERRORS = Gauge(
    "dragoman_catalogue_errors",
    "Settings and objects of the catalogue that do not take effect.",
    ["driver"],
    registry=REGISTRY,
)
AUDIT_CHECKED = Gauge(
    "dragoman_audit_checked_objects",
    "Stored objects with configs of a driver, by driver and kind, at the last audit.",
    ["driver", "kind"],
    registry=REGISTRY,
)
AUDIT_VIOLATIONS = Gauge(
    "dragoman_audit_violations",
    "Violations in stored objects, by driver and kind, at the last audit.",
    ["driver", "kind"],
    registry=REGISTRY,
)
AUDIT_TIME = Gauge(
    "dragoman_audit_timestamp_seconds",
    "When the last audit ended, as Unix time.",
    registry=REGISTRY,
)
FINDINGS = Gauge(
    "dragoman_findings",
    "What `kubectl dra doctor` finds, by finding, at the last examination; on the leader only.",
    ["finding"],
    registry=REGISTRY,
)
FINDINGS_TIME = Gauge(
    "dragoman_findings_timestamp_seconds",
    "When the last examination ended, as Unix time.",
    registry=REGISTRY,
)
CLUSTER_TEMPLATE_COPIES = Gauge(
    "dragoman_cluster_template_namespaces",
    "Namespaces of all ClusterResourceClaimTemplates, by the state of the copy: current, missing, "
    "outdated, conflict (an own template of the name stays), unwanted, leaving.",
    ["state"],
    registry=REGISTRY,
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
