"""Settings of both processes: flags of the commands, or DRAGOMAN_* variables."""

import math
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, NamedTuple, Self, get_args, get_origin

ClaimsMode = Literal["auto", "own", "assist", "off"]
PodGroupClaims = Literal["auto", "on", "off"]
EvictionsMode = Literal["off", "assist", "own"]
PoolStatusMode = Literal["auto", "own", "off"]
PreemptionMode = Literal["off", "report", "on"]
PreemptionSelect = Literal["all", "opted-in"]
LogFormat = Literal["text", "json"]
TlsKind = Literal["files", "self"]
PREFIX = "DRAGOMAN_"

BOUNDS = {
    "workers": (1, 1000),
    "grace": (0.0, math.inf),
    "takeover_after": (0.0, math.inf),
    "resync": (1.0, math.inf),
    "safe_release_grace": (0.0, math.inf),
    "safe_release_margin": (0.0, math.inf),
    "pool_status_grace": (0.0, math.inf),
    "findings_interval": (1.0, math.inf),
    "preemption_after": (0.0, math.inf),
    "preemption_min_gap": (1, 2**31),
    "preemption_max_victims": (1, 1000),
    "preemption_parallel": (1, 100),
    "preemption_evictions_per_hour": (1, 1_000_000),
    "preemption_namespace_evictions": (1, 1_000_000),
    "preemption_max_grace": (0.0, 86_400.0),
    "preemption_timeout": (1.0, 3600.0),
    "preemption_min_runtime": (0.0, 86_400.0),
    "explain_after": (0.0, math.inf),
    "explain_interval": (1.0, math.inf),
}
"""Allowed ranges of numeric settings."""
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class SettingsError(ValueError):
    """A setting has an unusable value; the message names the setting and what is expected."""


class Address(NamedTuple):
    """A host and a port to listen on.

    Attributes:
        host: Name or address, without brackets; empty for all interfaces.
        port: 0 for any free port.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `HOST:PORT`, `[::1]:PORT` or `:PORT`; raise ValueError saying what was found."""
        host, colon, port = text.rpartition(":")
        bare = ":" in host and not host.startswith("[")
        if not colon or bare or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT, as 127.0.0.1:8080 or :8080, found {text!r}")
        return cls(host.strip("[]"), int(port))


def own_namespace() -> str:
    """Return the namespace of the pod that this process runs in, or `default` outside of one."""
    path = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    return path.read_text().strip() if path.is_file() else "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """How reviews are served.

    Attributes:
        address: `HOST:PORT`; no host means all interfaces.
        deadline: Seconds for one review.
        tls: `files`: certificate files that are renewed externally; `self`: a private CA.
        tls_certificate: PEM file, for `files`.
        tls_key: PEM file, for `files`.
        tls_secret: Secret that keeps certificates and keys, for `self`.
        tls_host: Names and addresses that the API server calls, for `self`; by default the
            Service `dragoman-webhook` of the namespace.
        tls_lifetime: Days that a certificate lasts, for `self`.
        client_ca: PEM file of the CA that signs the API server's client certificate; None to accept
            reviews from every client.
        webhook_configuration: ValidatingWebhookConfiguration whose `caBundle` is kept.
        namespace: Of the Secret.
        review_targets: Whether targets of DeviceMaintenances are compared with ResourceSlices.
    """

    address: str = ":9443"
    deadline: float = 4.0
    tls: TlsKind = "files"
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_secret: str = "dragoman-webhook-tls"  # noqa: S105 — the name of a Secret
    tls_host: tuple[str, ...] = ()
    tls_lifetime: float = 90.0
    client_ca: Path | None = None
    webhook_configuration: str = "dragoman"
    review_targets: bool = False
    namespace: str = field(default_factory=own_namespace)

    def __post_init__(self) -> None:
        """Raise SettingsError where a setting is missing or unusable."""
        if self.tls == "files" and not (self.tls_certificate and self.tls_key):
            raise SettingsError("--tls=files needs --tls-certificate and --tls-key")
        try:
            Address.parse(self.address)
        except ValueError as error:
            raise SettingsError(f"where to serve reviews: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the operator, and of the webhook's process.

    Attributes:
        kubeconfig: Path of a kubeconfig file; None for the usual places.
        context: Name of a context in it; None for the current one.
        claims: `own`: be the claim controller. `assist`: help another one where it failed.
            `auto`: assist until there is clearly no other. `off`: leave claims alone.
        evictions: `own`: evict pods from devices with NoExecute taints. `assist`: evict those that
            the stock controller forgets. `off`: leave pods alone.
        pool_status: `own`: answer every ResourcePoolStatusRequest. `auto`: answer those that no
            other controller answered. `off`: leave them alone.
        pool_status_grace: Seconds that a driver has to complete its pools before a request is
            answered without them.
        inventory_reports: Whether a DevicePoolReport per pool is written.
        inventory_holders: Whether the reports name the claims that hold devices.
        grace: Seconds that another controller has before dragoman acts.
        takeover_after: Seconds without activity of another controller after which `auto`
            becomes `own`.
        safe_release: Whether a claim stays reserved for a pod that left the API before its
            containers had ended, in `own`; in other modes such a pod is only reported.
        safe_release_grace: Seconds that are taken as the grace period of a pod that left unseen.
        safe_release_margin: Seconds that a kubelet has after the grace period.
        podgroup_claims: Whether PodGroups have claims where the API server serves PodGroups;
            `auto`: as its feature gate DRAWorkloadResourceClaims says, where that can be read.
        leader_elect: Whether only the holder of a Lease writes.
        lease_duration: Seconds that other replicas wait before they take over the Lease.
        renew_deadline: Seconds after which a leader that cannot renew stops.
        retry_period: Seconds between attempts to acquire or renew the Lease.
        namespace: Where the operator keeps its own objects.
        metrics_address: `HOST:PORT` of /metrics, /livez and /readyz; empty for none.
        log_format: `text` or `json`.
        log_level: The least severe level that is logged.
        workers: How many pods, and how many claims, are reconciled at the same time.
        resync: Seconds between full passes.
        cluster_templates: Whether ClusterResourceClaimTemplates are copied into namespaces.
        maintenance: Whether DeviceMaintenances are carried out.
        catalog: Which ready-made DriverConfigSchemas are applied: `all`, `none`, or drivers
            with commas between them.
        catalog_mode: `driver=mode` each.
        catalog_variable: `driver:NAME=VALUE` each.
        findings: Whether the cluster is examined as by `kubectl dra doctor`.
        findings_interval: Seconds between examinations.
        preemption: `report`: say in DevicePreemptions and Events which pods would have to end so
            that a pod gets its devices; nothing is evicted. `on`: reserve the devices by
            DeviceTaintRules and evict these pods. `off`: compute no plans.
        preemption_after: Seconds for which the scheduler must have refused such a pod.
        preemption_min_gap: By how much the priority of a victim is lower at least.
        preemption_max_victims: Pods of one plan at most.
        preemption_select: `all`: every pod may be a victim that does not refuse; `opted-in`: those
            with the annotation `dragoman.dev/preemptible: "true"`.
        preemption_protected_namespaces: Namespaces without victims, beside the operator's own.
        preemption_schedulers: Whose pods may preempt.
        preemption_parallel: Preemptions at a time.
        preemption_evictions_per_hour: Evictions in an hour.
        preemption_namespace_evictions: The same for the pods of one namespace.
        preemption_max_grace: Seconds of the longest grace period of a victim.
        preemption_timeout: Seconds beside the victims' grace period until a preemption has failed.
        preemption_min_runtime: Seconds for which a pod is spared whose controller lost another one
            to a preemption in the last hour.
        preemption_account: User that preemptions are carried out as, by impersonation; empty for
            the operator's own.
        explain_events: Whether pods that the scheduler refuses for lack of devices get an Event.
        explain_after: Seconds for which the scheduler must have refused such a pod.
        explain_interval: Seconds between two explanations of one pod.
        device_metrics: Whether metrics have a series per device, with who uses it.
        webhook: How reviews are served in this process; None for not at all. No variable.
        controllers: Whether controllers run, and write; the webhook's own process only reads
            DriverConfigSchemas and serves reviews. No variable.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    claims: ClaimsMode = "auto"
    evictions: EvictionsMode = "off"
    pool_status: PoolStatusMode = "auto"
    pool_status_grace: float = 5.0
    inventory_reports: bool = False
    inventory_holders: bool = False
    grace: float = 30.0
    takeover_after: float = 300.0
    safe_release: bool = False
    safe_release_grace: float = 600.0
    safe_release_margin: float = 90.0
    podgroup_claims: PodGroupClaims = "auto"
    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    namespace: str = field(default_factory=own_namespace)
    metrics_address: str = ""
    log_format: LogFormat = "text"
    log_level: str = "info"
    workers: int = 32
    resync: float = 600.0
    cluster_templates: bool = False
    maintenance: bool = False
    catalog: str = "none"
    catalog_mode: tuple[str, ...] = ()
    catalog_variable: tuple[str, ...] = ()
    findings: bool = False
    findings_interval: float = 600.0
    preemption: PreemptionMode = "off"
    preemption_after: float = 10.0
    preemption_min_gap: int = 1
    preemption_max_victims: int = 8
    preemption_select: PreemptionSelect = "all"
    preemption_protected_namespaces: tuple[str, ...] = ("kube-system",)
    preemption_schedulers: tuple[str, ...] = ("default-scheduler",)
    preemption_parallel: int = 2
    preemption_evictions_per_hour: int = 30
    preemption_namespace_evictions: int = 15
    preemption_max_grace: float = 600.0
    preemption_timeout: float = 60.0
    preemption_min_runtime: float = 60.0
    preemption_account: str = ""
    explain_events: bool = False
    explain_after: float = 30.0
    explain_interval: float = 300.0
    device_metrics: bool = False
    webhook: WebhookSettings | None = None
    controllers: bool = True

    def __post_init__(self) -> None:
        """Raise SettingsError naming a setting whose value is unusable."""
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                expected = " or more" if most == math.inf else f" to {most:g}"
                raise SettingsError(f"{_flag(name)}: expected {least:g}{expected}, found {value:g}")
        try:
            Address.parse(self.metrics_address or ":0")
        except ValueError as error:
            raise SettingsError(f"{_flag('metrics_address')}: {error}") from error

    @property
    def explains(self) -> bool:
        """Whether the operator has to know devices, classes and nodes."""
        return self.explain_events or self.device_metrics

    @property
    def requires_waiting(self) -> bool:
        """Whether a controller needs pods without a node as a whole."""
        return self.explains or self.preemption != "off"

    @property
    def requires_schemas(self) -> bool:
        """Whether settings concern DriverConfigSchemas, so that a fault there ends the start."""
        chosen = self.catalog_mode or self.catalog_variable or self.catalog != "none"
        return bool(chosen or self.webhook)

    @classmethod
    def from_environment(cls) -> Self:
        """Read DRAGOMAN_* variables; raise SettingsError naming the wrong one."""
        values: dict[str, object] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.name.upper()
            former = variable.replace("CATALOG", "CATALOGUE")
            if variable not in os.environ and former in os.environ:
                variable = former
            if variable in os.environ and setting.name not in {"webhook", "controllers"}:
                value = os.environ[variable]
                values[setting.name] = _convert(variable, setting.name, setting.type, value)
        return cls(**values)  # type: ignore[arg-type]  # _convert gave each its type


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')} ({PREFIX}{name.upper()})"


def _convert(variable: str, name: str, kind: object, value: str) -> object:
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and value not in choices:
        raise SettingsError(f"{variable}: expected one of {', '.join(choices)}, found {value!r}")
    if get_origin(kind) is tuple:
        return tuple(value.split())
    if kind is bool:
        if value.lower() not in _BOOLEANS:
            raise SettingsError(f"{variable}: expected true or false, found {value!r}")
        return _BOOLEANS[value.lower()]
    if name == "kubeconfig":
        return Path(value)
    try:
        return int(value) if kind is int else float(value) if kind is float else value
    except ValueError as error:
        raise SettingsError(f"{variable}: expected a number, found {value!r}") from error
