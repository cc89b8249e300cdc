"""DriverConfigSchema objects as facts, parsed once.

The CRD (`crds/driverconfigschemas.yaml`) keeps malformed objects out of a cluster. Files given to
`dragoman check` come without it, so the parser checks types itself and fills in the defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_configs.fielderrors import ConfigFieldError

API_VERSION = "dragoman.dev/v1alpha1"
KIND = "DriverConfigSchema"

ENFORCE, WARN, AUDIT, OFF = "Enforce", "Warn", "Audit", "Off"
DENY, ALLOW = "Deny", "Allow"
CLAIM, CLASS = "Claim", "Class"
LAST_WINS, FIRST_WINS, MERGE, EXACTLY_ONE = "LastWins", "FirstWins", "Merge", "ExactlyOne"

MODES = (ENFORCE, WARN, AUDIT, OFF)
POLICIES = (DENY, WARN, ALLOW)
SOURCES = (CLAIM, CLASS)
PRECEDENCES = (LAST_WINS, FIRST_WINS, MERGE, EXACTLY_ONE)
CHECKED_AGAINST = "dragoman.dev/checked-against"
"""Annotation with the repository, release and commit of the driver that a schema describes."""

MAX_CHECKED_AGAINST = 128
"""Characters of it that messages repeat."""

VARIABLE_TYPES: Mapping[str, type[bool | int | str]] = {
    "bool": bool,
    "int": int,
    "string": str,
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A per-cluster switch that rules read as `variables.NAME`."""

    name: str  # A CEL identifier
    type: str  # `bool`, int or string
    value: bool | int | str  # The value in this cluster, of that type


@dataclass(frozen=True, slots=True)
class EntryRules:
    """How a driver treats config entries; the defaults are the common behaviour."""

    precedence: str = LAST_WINS  # Which of several entries for one request counts
    requests_required: bool = False  # An entry without requests is ignored by the driver
    classes_ignored: bool = False  # An entry in a device class is
    main_covers_subrequests: bool = True  # An entry naming `main` reaches `main/sub`


@dataclass(frozen=True, slots=True)
class ConfigSpec:
    """One kind of parameters, not compiled yet."""

    api_version: str  # Empty when the kind has none
    kind: str  # Empty when it has none
    sources: frozenset[str]  # `Claim`, `Class` or both: where entries of this kind may stand
    schema: Any  # The structural schema, not checked yet
    # The policy of the driver's decoder for fields that the schema does not list
    unknown_fields: str
    # CEL rules about the whole parameters, as in `x-kubernetes-validations`
    rules: tuple[Mapping[str, Any], ...]
    # Device classes for whose devices the driver refuses this kind
    refused_classes: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Name the kind in messages."""
        return f"{self.api_version} {self.kind}".strip() or "(any kind)"


@dataclass(frozen=True, slots=True)
class DriverConfigSchema:
    """One object, parsed."""

    name: str  # The object's name
    uid: str  # Empty for objects from files
    generation: int  # `metadata.generation`, 0 for objects from files.
    created: str  # `metadata.creationTimestamp` (RFC 3339, which sorts as text), empty from files.
    driver: str  # The driver's name; empty when it is missing or malformed
    mode: str  # Enforce, Warn, Audit or Off
    unknown_configs: str  # The policy for kinds that are not listed
    variables: tuple[Variable, ...]  # Typed values for rules
    entries: EntryRules  # How the driver treats entries
    configs: tuple[ConfigSpec, ...]  # The kinds, in the object's order
    checked_against: str  # The annotation `CHECKED_AGAINST`; empty without it
    errors: tuple[ConfigFieldError, ...]  # Malformed fields; with any, the object does not compile
