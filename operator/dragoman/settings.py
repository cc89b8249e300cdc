"""Settings of both processes: flags of the commands, or DRAGOMAN_* variables."""

import math
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

from dragoman_base.files import read_text

ClaimsMode = Literal["auto", "own", "assist", "off"]
PodGroupClaims = Literal["auto", "on", "off"]
EvictionsMode = Literal["off", "assist", "own"]
PoolStatusMode = Literal["auto", "own", "off"]
PreemptionMode = Literal["off", "report", "on"]
PreemptionSelect = Literal["all", "opted-in"]
LogFormat = Literal["text", "json"]
TlsKind = Literal["files", "self"]
PREFIX = "DRAGOMAN_"
T = TypeVar("T")
PRIORITY_SPAN = 2**31
"""No priorities differ by more, so that `--help` does not name this limit."""
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class SettingsError(ValueError):
    """A setting has an unusable value; the message names the setting and what is expected."""


class Option(NamedTuple):
    """How a setting is given to a command."""

    text: str | None = None  # What it does, for `--help`
    least: float | None = None  # The least value of a number; None for any
    most: float = math.inf  # The greatest value
    # What stands for the value in `--help`; None for what its type is called
    metavar: str | None = None
    choices: tuple[str, ...] = ()  # The values of a text; those of a Literal are known


OPTION = "option"
"""Where the metadata of a field has its option."""


def setting(default: T, text: str | None = None, **more: Any) -> T:
    """Return a field that is an option of the commands, with what `Option` says of it."""
    return field(default=default, metadata={OPTION: Option(text, **more)})


class Address(NamedTuple):
    """A host and a port to listen on."""

    host: str  # Name or address, without brackets; empty for all interfaces
    port: int  # 0 for any free port

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
    return read_text(path).strip() if path.is_file() else "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """How reviews are served; what `setting` returns is an option of the commands."""

    address: str = ":9443"  # `HOST:PORT`; no host means all interfaces
    tls: TlsKind = setting(
        "files",
        "files: certificate files that are renewed externally; self: a private CA, kept in a "
        "Secret and published in caBundle.",
    )
    tls_certificate: Path | None = setting(
        None, "PEM file with the serving certificate and its chain; read again when it changes."
    )
    tls_key: Path | None = setting(None, "PEM file with its key.")
    client_ca: Path | None = setting(
        None,
        "PEM file of the CA that signs the client certificates of API servers. With it, every "
        "other client is rejected; read at the start.",
    )
    tls_secret: str = setting(
        "dragoman-webhook-tls",
        "Secret for --tls=self; it must be there, empty at first.",
        metavar="NAME",
    )
    tls_host: tuple[str, ...] = setting(
        (),
        "By which the API server calls, for --tls=self; by default the Service "
        "dragoman-webhook of the namespace.",
        metavar="NAME|ADDRESS",
    )
    tls_lifetime: float = setting(
        90.0,
        "How long a certificate of --tls=self lasts; it is renewed after two thirds.",
        least=0.0001,
        metavar="DAYS",
    )
    webhook_configuration: str = setting(
        "dragoman",
        "ValidatingWebhookConfiguration whose caBundle --tls=self keeps.",
        metavar="NAME",
    )
    review_targets: bool = setting(
        False,
        "Whether to list ResourceSlices, and to reject DeviceMaintenances that match no device "
        "or every device.",
    )
    deadline: float = setting(
        4.0,
        "Time for one review; keep it below timeoutSeconds of the webhook configuration.",
        least=0.1,
        most=30.0,
    )
    namespace: str = field(default_factory=own_namespace)  # Of the Secret

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

    What `setting` returns is an option of `dragoman operator`, under the same name.
    """

    kubeconfig: Path | None = None  # Path of a kubeconfig file; None for the usual places
    context: str | None = None  # Name of a context in it; None for the current one
    claims: ClaimsMode = setting(
        "auto",
        "own: be the claim controller; assist: help another controller where it fails; auto: "
        "assist until no other controller is active; off: leave claims alone.",
    )
    evictions: EvictionsMode = setting(
        "off",
        "own: evict pods from devices with NoExecute taints, as kube-controller-manager's "
        "device-taint-eviction-controller; assist: evict those that it forgets; off: evict "
        "none.",
    )
    pool_status: PoolStatusMode = setting(
        "auto",
        "own: answer ResourcePoolStatusRequests and delete old ones; auto: answer those that "
        "no other controller answered within 10 seconds; off: leave them alone.",
    )
    pool_status_grace: float = setting(
        5.0,
        "How long a driver has to complete its pools before a request is answered without them.",
        least=0.0,
    )
    inventory_reports: bool = setting(
        False, "Write a DevicePoolReport per pool, for users who cannot list claims."
    )
    inventory_holders: bool = setting(False, "Name in the reports the claims that hold devices.")
    grace: float = setting(30.0, "How long another controller has before dragoman acts.", least=0.0)
    takeover_after: float = setting(
        300.0, "How long no other controller must be active before auto becomes own.", least=0.0
    )
    safe_release: bool = setting(
        False,
        "Keep the claim of a pod that left the API before its containers had ended, as after a "
        "force deletion, until its node has ended them or is given up. With --claims=own; "
        "otherwise such pods are only reported. The operator then reads nodes and their "
        "Leases.",
    )
    safe_release_grace: float = setting(
        600.0,
        "The grace period that is assumed of a pod that left while no operator ran.",
        least=0.0,
    )
    safe_release_margin: float = setting(
        90.0,
        "How long a kubelet has after the grace period. It learns of a deletion up to 45 s "
        "late where its connection died.",
        least=0.0,
    )
    safe_release_limit: float = setting(
        3600.0,
        "The longest grace period of a pod that is believed, and how long after the deletion of a "
        "namespace its claims are kept.",
        least=0.0,
    )
    podgroup_claims: PodGroupClaims = setting(
        "auto",
        "Whether PodGroups have claims; auto: as the API server's gate "
        "DRAWorkloadResourceClaims says, and on where its metrics cannot be read.",
    )
    leader_elect: bool = setting(
        True, "Whether only the holder of the Lease dragoman-operator writes."
    )
    lease_duration: float = setting(
        15.0,
        "How long other replicas wait before they take over from a leader that stopped renewing.",
    )
    renew_deadline: float = setting(
        10.0, "How long a leader continues without a successful renewal."
    )
    retry_period: float = setting(2.0, "Time between attempts to acquire or renew the Lease.")
    namespace: str = field(
        default_factory=own_namespace,
        metadata={
            OPTION: Option("Where the operator keeps its own objects; in a pod its own namespace.")
        },
    )
    metrics_address: str = setting(
        "",
        "Serve /metrics, /livez and /readyz there over HTTP; by default nowhere.",
        metavar="HOST:PORT",
    )
    log_format: LogFormat = setting("text")
    log_level: str = setting("info", choices=("debug", "info", "warning", "error"))
    workers: int = setting(
        32,
        "How many pods, and how many claims, are reconciled at the same time.",
        least=1,
        most=1000,
    )
    resync: float = setting(600.0, "Time between full passes over everything.", least=1.0)
    cluster_templates: bool = setting(
        False, "Whether ClusterResourceClaimTemplates are copied into the namespaces they select."
    )
    maintenance: bool = setting(
        False, "Whether DeviceMaintenances take devices out of service and evict pods."
    )
    catalog: str = setting(
        "none",
        "Ready-made DriverConfigSchemas to apply; what admins change in them stays theirs.",
        metavar="all|none|DRIVER,…",
    )
    catalog_mode: tuple[str, ...] = setting(
        (), "Mode of a driver's schema: Enforce, Warn, Audit or Off.", metavar="DRIVER=MODE"
    )
    catalog_variable: tuple[str, ...] = setting(
        (),
        "Variable of a driver's schema, such as a feature gate of the driver.",
        metavar="DRIVER:NAME=VALUE",
    )
    findings: bool = setting(
        False, "Whether to check the cluster as kubectl dra doctor does, for metrics and Events."
    )
    findings_interval: float = setting(600.0, "Time between two checks.", least=1.0)
    preemption: PreemptionMode = setting(
        "off",
        "report: say in DevicePreemptions, Events and metrics which pods would have to end so "
        "that a pod gets its devices, and evict nothing; on: reserve the devices by "
        "DeviceTaintRules, and evict these pods; off: compute no plans.",
    )
    preemption_after: float = setting(
        10.0, "How long a pod must be unschedulable before a plan is computed for it.", least=0.0
    )
    preemption_min_gap: int = setting(
        1,
        "By how much the priority of a pod that would end is lower at least.",
        least=1,
        most=PRIORITY_SPAN,
        metavar="N",
    )
    preemption_max_victims: int = setting(
        8, "Pods that may end for one pod.", least=1, most=1000, metavar="N"
    )
    preemption_select: PreemptionSelect = setting(
        "all",
        "all: plans name every pod that may end; opted-in: only those with the annotation "
        'dragoman.dev/preemptible: "true", also of their namespace.',
    )
    preemption_protected_namespaces: tuple[str, ...] = setting(
        ("kube-system",),
        "A namespace whose pods never end for others; the operator's own is one as well.",
        metavar="NAMESPACE",
    )
    preemption_schedulers: tuple[str, ...] = setting(
        ("default-scheduler",), "A scheduler whose pods may preempt.", metavar="NAME"
    )
    preemption_parallel: int = setting(2, "Preemptions at a time.", least=1, most=100, metavar="N")
    preemption_evictions_per_hour: int = setting(
        30, "Pods that are evicted in an hour at most.", least=1, most=1_000_000, metavar="N"
    )
    preemption_namespace_evictions: int = setting(
        10,
        "Pods that are evicted in an hour at most for pods of one namespace.",
        least=1,
        most=1_000_000,
        metavar="N",
    )
    preemption_max_grace: float = setting(
        120.0,
        "The longest grace period of a pod that may end: devices stay reserved for so long.",
        least=0.0,
        most=86_400.0,
    )
    preemption_timeout: float = setting(
        60.0,
        "Time besides the grace period of evicted pods until a preemption has failed.",
        least=1.0,
        most=3600.0,
    )
    preemption_min_runtime: float = setting(
        60.0,
        "How long a pod is spared whose controller lost another one to a preemption.",
        least=0.0,
        most=86_400.0,
    )
    preemption_account: str = setting(
        "",
        "User to impersonate for preemptions, so that the audit log has a name of their own.",
        metavar="USER",
    )
    explain_events: bool = setting(
        False,
        "Whether pods that wait for devices get an Event that says what each node lacks, and "
        "metrics count devices. The operator then reads nodes, ResourceSlices and "
        "DeviceClasses.",
    )
    explain_after: float = setting(
        30.0, "How long a pod must be unschedulable before the Event.", least=0.0
    )
    explain_interval: float = setting(
        300.0,
        "Time between two Events about one pod; the second one only has other reasons.",
        least=1.0,
    )
    device_metrics: bool = setting(
        False,
        "Whether metrics have a series per device, with the claim and the pod that use it and its "
        "UUID.",
    )
    device_metrics_limit: int = setting(
        10_000,
        "How many series of devices there are at most; beyond it, those of the namespaces with "
        "most of them are left out and counted.",
        least=0,
    )
    usage_series_limit: int = setting(
        2_000,
        "With --device-metrics, how many series of seconds by namespace there are at most; further "
        "namespaces count as _other.",
        least=0,
        most=5_000,
    )
    # How reviews are served in this process; None for not at all. No variable.
    webhook: WebhookSettings | None = None
    # Whether controllers run, and write; the webhook's own process only reads DriverConfigSchemas
    # and serves reviews. No variable.
    controllers: bool = True

    def __post_init__(self) -> None:
        """Raise SettingsError naming a setting whose value is unusable."""
        for one in fields(self):
            option = one.metadata.get(OPTION)
            value = getattr(self, one.name)
            if option is None or option.least is None or option.least <= value <= option.most:
                continue
            expected = " or more" if option.most == math.inf else f" to {option.most:g}"
            found = f"{option.least:g}{expected}, found {value:g}"
            raise SettingsError(f"{_flag(one.name)}: expected {found}")
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
