"""Findings: ids that users, metrics and alerts know, their severity, and what a finding carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    ERROR = "error"
    """Devices are lost, or pods get what they must not get. Exit status 1, and an alert."""
    WARNING = "warning"
    """Devices lie idle, or will be a problem soon."""
    INFO = "info"
    """Worth knowing; nothing needs to be done."""


ORDER = tuple(Severity)


class Id(StrEnum):
    """The ids of findings; they are stable."""

    POOL_INCOMPLETE = "PoolIncomplete"
    POOL_INVALID = "PoolInvalid"
    DEVICE_LOST = "DeviceLost"
    DOUBLE_BOOKED = "DoubleBooked"
    SHARE_OVER_CAPACITY = "ShareOverCapacity"
    CONSUMED_NEGATIVE = "ConsumedNegative"
    FINALIZER_STUCK = "FinalizerStuck"
    CONTAINERS_NOT_ENDED = "ContainersNotEnded"
    WEBHOOK_MISSING = "WebhookMissing"
    CLAIM_IDLE = "ClaimIdle"
    CLAIM_UNOWNED = "ClaimUnowned"
    TEMPLATE_DRIFT = "TemplateDrift"
    CONSUMERS_NEAR_LIMIT = "ConsumersNearLimit"
    DRIVER_SILENT = "DriverSilent"
    TAINTED_IN_USE = "TaintedInUse"
    HOLD_STALE = "HoldStale"
    ADMIN_OVERLAP = "AdminOverlap"
    NAME_OWN_DOMAIN = "NameOwnDomain"
    NAME_NON_STANDARD = "NameNonStandard"
    NAME_MIXED_TYPE = "NameMixedType"
    SLICE_UNOWNED = "SliceUnowned"
    COUNTER_OVERDRAWN = "CounterOverdrawn"
    POLICY_DEFAULT_TOO_BIG = "PolicyDefaultTooBig"
    SLICE_WRITE_STORM = "SliceWriteStorm"
    SLICES_MISSING = "SlicesMissing"
    DRIVER_RIGHTS = "DriverRights"
    DRIVER_NOT_CONFORMANT = "DriverNotConformant"
    KNOWN_FAULT = "KnownFault"
    CLASS_FAILS = "ClassFails"
    CLASS_EMPTY = "ClassEmpty"
    REFERENCE_MISSING = "ReferenceMissing"
    POD_NEVER_FITS = "PodNeverFits"
    POD_UNSEEN = "PodUnseen"
    POD_REJECTED = "PodRejected"
    QUEUE_REFUSES = "QueueRefuses"
    QUEUE_DIFFERS = "QueueDiffers"
    SHAPE_DIFFERS = "ShapeDiffers"
    API_REMOVED = "ApiRemoved"
    DRIVER_OUTDATED = "DriverOutdated"
    GATE_REMOVED = "GateRemoved"


_ERRORS = frozenset(
    {
        *(Id.POOL_INCOMPLETE, Id.POOL_INVALID, Id.DEVICE_LOST, Id.DOUBLE_BOOKED),
        *(Id.SHARE_OVER_CAPACITY, Id.FINALIZER_STUCK, Id.CONTAINERS_NOT_ENDED),
        *(Id.WEBHOOK_MISSING, Id.CLASS_FAILS),
    }
)
_INFOS = frozenset({Id.ADMIN_OVERLAP, Id.KNOWN_FAULT, Id.QUEUE_DIFFERS, Id.SHAPE_DIFFERS})
SEVERITIES: Mapping[Id, Severity] = MappingProxyType(
    {
        one: Severity.ERROR
        if one in _ERRORS
        else Severity.INFO
        if one in _INFOS
        else Severity.WARNING
        for one in Id
    }
)
"""The severity of the findings of an id, unless a finding has another one."""


UPGRADE = (Id.API_REMOVED, Id.DRIVER_OUTDATED, Id.GATE_REMOVED)
"""Rules that need the version that the cluster is upgraded to."""


@dataclass(frozen=True, slots=True)
class FindingSubject:
    """The object that a finding is about."""

    text: str  # What tables show, such as `ml/eval-gpu` or `dra.net/node-6`.
    kind: str = ""  # Of the API object that Events regard; empty where there is none
    name: str = ""  # Of the API object
    namespace: str = ""  # Of the API object; empty for cluster-scoped ones
    uid: str = ""  # Of the API object; empty where it is unknown
    api_version: str = "resource.k8s.io/v1"  # Of the API object


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    id: Id  # Which
    subject: FindingSubject  # About which object
    message: str  # What is wrong, without a full stop
    remedy: str  # What to do about it, often a command
    since: str = ""  # Since when, as an API timestamp; empty where that is unknown
    # The message without names of other namespaces than the subject's, for Events; empty where the
    # message has none
    public: str = ""
    # How much it matters, where that is not the same for all findings of the id
    level: Severity | None = None

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.level or SEVERITIES[self.id]
