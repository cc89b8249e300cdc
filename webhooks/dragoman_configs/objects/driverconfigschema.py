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
    """A per-cluster switch that rules read as `variables.NAME`.

    Attributes:
        name: A CEL identifier.
        type: `bool`, int or string.
        value: The value in this cluster, of that type.
    """

    name: str
    type: str
    value: bool | int | str


@dataclass(frozen=True, slots=True)
class EntryRules:
    """How a driver treats config entries; the defaults are the common behaviour.

    Attributes:
        precedence: Which of several entries for one request counts.
        requests_required: An entry without requests is ignored by the driver.
        classes_ignored: An entry in a device class is.
        main_covers_subrequests: An entry naming `main` reaches `main/sub`.
    """

    precedence: str = LAST_WINS
    requests_required: bool = False
    classes_ignored: bool = False
    main_covers_subrequests: bool = True


@dataclass(frozen=True, slots=True)
class ConfigSpec:
    """One kind of parameters, not compiled yet.

    Attributes:
        api_version: Empty when the kind has none.
        kind: Empty when it has none.
        sources: `Claim`, `Class` or both: where entries of this kind may stand.
        schema: The structural schema, not checked yet.
        unknown_fields: The policy of the driver's decoder for fields that the schema does not list.
        rules: CEL rules about the whole parameters, as in `x-kubernetes-validations`.
        refused_classes: Device classes for whose devices the driver refuses this kind.
    """

    api_version: str
    kind: str
    sources: frozenset[str]
    schema: Any
    unknown_fields: str
    rules: tuple[Mapping[str, Any], ...]
    refused_classes: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Name the kind in messages."""
        return f"{self.api_version} {self.kind}".strip() or "(any kind)"


@dataclass(frozen=True, slots=True)
class DriverConfigSchema:
    """One object, parsed.

    Attributes:
        name: The object's name.
        uid: Empty for objects from files.
        generation: `metadata.generation`, 0 for objects from files.
        created: `metadata.creationTimestamp` (RFC 3339, which sorts as text), empty from files.
        driver: The driver's name; empty when it is missing or malformed.
        mode: Enforce, Warn, Audit or Off.
        unknown_configs: The policy for kinds that are not listed.
        variables: Typed values for rules.
        entries: How the driver treats entries.
        configs: The kinds, in the object's order.
        checked_against: The annotation `CHECKED_AGAINST`; empty without it.
        errors: Malformed fields; with any, the object does not compile.
    """

    name: str
    uid: str
    generation: int
    created: str
    driver: str
    mode: str
    unknown_configs: str
    variables: tuple[Variable, ...]
    entries: EntryRules
    configs: tuple[ConfigSpec, ...]
    checked_against: str
    errors: tuple[ConfigFieldError, ...]
