"""Names, labels and other formats (k8s.io/apimachinery/pkg/util/validation)."""

import re
from typing import Any

from dragoman_base.words.dns import LABEL, SUBDOMAIN
from dragoman_configs.fielderrors import shorten
from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, sequence, text
from dragoman_toolkit.linting.validation.errors import Errors

_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
    " and must start and end with an alphanumeric character"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character"
)
_QUALIFIED_WORDS = (
    "name part must consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
)
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character"
)
_IDENTIFIER_WORDS = (
    "a valid C identifier must start with alphabetic character or '_',"
    " followed by a string of alphanumeric characters or '_'"
)
_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_FINALIZER_WORDS = "name is neither a standard finalizer name nor is it fully qualified"
MAX_LABEL = 63
MAX_SUBDOMAIN = 253
_MAX_ID = 32
_MAX_ANNOTATIONS = 256 * 1024
_NAMESPACED = ("ResourceClaim", "ResourceClaimTemplate")


def size(value: str) -> int:
    """Count bytes, as Go does."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


def label_fault(value: str) -> str:
    """Say what is wrong with a DNS label; empty for a good one."""
    if size(value) > MAX_LABEL:
        return f"must be no more than {MAX_LABEL} bytes"
    return "" if LABEL.fullmatch(value) else _LABEL_WORDS


def subdomain_fault(value: str) -> str:
    """Say what is wrong with a DNS subdomain; empty for a good one."""
    if size(value) > MAX_SUBDOMAIN:
        return f"must be no more than {MAX_SUBDOMAIN} bytes"
    return "" if SUBDOMAIN.fullmatch(value) else _SUBDOMAIN_WORDS


def qualified_fault(value: str) -> str:
    """Say what is wrong with a label's name, such as `example.com/gpu`; empty for a good one."""
    prefix, slash, name = value.rpartition("/")
    if slash:
        if not prefix:
            return "prefix part must be non-empty"
        if "/" in prefix or (fault := subdomain_fault(prefix)):
            return (
                f"prefix part {fault}"
                if "/" not in prefix
                else f"a qualified name {_QUALIFIED_WORDS}"
            )
    if not name:
        return "name part must be non-empty"
    if size(name) > MAX_LABEL:
        return f"name part must be no more than {MAX_LABEL} bytes"
    return "" if _QUALIFIED.fullmatch(name) else _QUALIFIED_WORDS


def label_value_fault(value: str) -> str:
    """Say what is wrong with a label's value; empty for a good one."""
    if size(value) > MAX_LABEL:
        return f"must be no more than {MAX_LABEL} bytes"
    return "" if not value or _QUALIFIED.fullmatch(value) else _VALUE_WORDS


def check_label(errors: Errors, steps: Steps, value: Any) -> None:
    """Check a DNS label such as the name of a request or device; an empty one is refused too."""
    if fault := label_fault(text(value)):
        errors.invalid(steps, text(value), fault)


def check_label_name(errors: Errors, steps: Steps, value: Any) -> None:
    """Check the key of a taint or label."""
    if fault := qualified_fault(text(value)):
        errors.invalid(steps, text(value), fault)


def check_driver(errors: Errors, steps: Steps, value: Any) -> None:
    """Check the name of a driver."""
    name = text(value)
    if not name:
        errors.required(steps)
        return
    if size(name) > MAX_LABEL:
        errors.too_long(steps, MAX_LABEL)
    if fault := subdomain_fault(name.lower()):
        domain, slash, local = name.lower().partition("/")
        meant = f"{local}.{domain}" if slash and not subdomain_fault(f"{local}.{domain}") else ""
        advice = f'a driver name has no slash: did you mean "{meant}"?' if meant else ""
        errors.add(steps, f"Invalid value: {shorten(name)}: {fault}", advice=advice)


def check_pool(errors: Errors, steps: Steps, value: Any) -> None:
    """Check the name of a pool: subdomains with slashes between them."""
    name = text(value)
    if not name:
        errors.required(steps)
        return
    if size(name) > MAX_SUBDOMAIN:
        errors.too_long(steps, MAX_SUBDOMAIN)
    for part in name.split("/"):
        if fault := subdomain_fault(part):
            errors.invalid(steps, part, fault)


def check_attribute_name(errors: Errors, steps: Steps, name: str, *, full: bool = False) -> None:
    """Check the name of an attribute or capacity: `model` or `example.com/model`.

    Args:
        errors: Where errors go.
        steps: Where the name stands.
        name: The name.
        full: Whether a domain is required, as in constraints.
    """
    parts = name.split("/")
    if len(parts) == 2:
        if full and errors.release.domains_lower_case and (fault := subdomain_fault(parts[0])):
            errors.invalid(steps, parts[0], f"prefix: {fault}")
        elif parts[0]:
            check_driver(errors, steps, parts[0])
        else:
            errors.invalid(steps, "", "the domain must not be empty")
        if not parts[1]:
            errors.invalid(steps, "", "the name must not be empty")
    elif len(parts) > 2 and errors.release.slashes_limited:
        errors.invalid(steps, name, "must not contain more than one slash")
    # Before, the API server overlooks names with more than one slash.
    if len(parts) == 1 or (len(parts) == 2 and parts[1]):
        _check_identifier(errors, steps, parts[-1])
    if full and len(parts) == 1:
        words = "a fully qualified name must be a domain and a name separated by a slash"
        errors.invalid(steps, name, words)


def _check_identifier(errors: Errors, steps: Steps, name: str) -> None:
    if size(name) > _MAX_ID:
        errors.too_long(steps, _MAX_ID)
    if not _IDENTIFIER.fullmatch(name):
        errors.invalid(steps, name, _IDENTIFIER_WORDS)


def check_metadata(errors: Errors, obj: Object) -> None:
    """Check name, labels and annotations (ValidateObjectMeta)."""
    metadata, place = obj.metadata, ("metadata",)
    name, prefix = obj.name, text(metadata.get("generateName"))
    fault_of = label_fault if obj.kind == "PodGroup" else subdomain_fault
    if name:
        if fault := fault_of(name):
            errors.invalid((*place, "name"), name, fault)
    elif not prefix:
        errors.required((*place, "name"), "name or generateName is required")
    if prefix and (fault := fault_of(prefix.removesuffix("-") + "x" * prefix.endswith("-"))):
        errors.invalid((*place, "generateName"), prefix, fault)
    if obj.kind in _NAMESPACED and obj.namespace and (fault := label_fault(obj.namespace)):
        errors.invalid((*place, "namespace"), obj.namespace, fault)
    check_labels(errors, place, metadata)
    for index, name in enumerate(sequence(metadata.get("finalizers"))):
        # validateKubeFinalizerName of pkg/apis/core/validation, which custom resources do not pass
        plain = "/" not in text(name) and (obj.in_group or obj.group in ("", "apps", "batch"))
        # What is no name at all is named above, where labels are.
        if plain and name not in _FINALIZERS and not qualified_fault(text(name)):
            errors.invalid((*place, "finalizers", index), name, _FINALIZER_WORDS)
    _check_owners(errors, (*place, "ownerReferences"), metadata.get("ownerReferences"))


def _check_owners(errors: Errors, steps: Steps, owners: Any) -> None:
    """Check owners, which saved objects often name (ValidateOwnerReferences)."""
    controllers = 0
    for index, owner in enumerate(map(mapping, sequence(owners))):
        at = (*steps, index)
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                words = "version" if name == "apiVersion" else name
                errors.add((*at, name), f'Invalid value: "": {words} must not be empty')
        controllers += owner.get("controller") is True
    if controllers > 1:
        errors.add(steps, "Invalid value: Only one reference can have Controller set to true")


def check_labels(errors: Errors, place: Steps, metadata: dict[str, Any]) -> None:
    """Check labels and annotations."""
    for key, value in mapping(metadata.get("labels")).items():
        steps = (*place, "labels", key)
        if fault := qualified_fault(key):
            errors.invalid(steps, key, fault)
        if isinstance(value, str) and (fault := label_value_fault(value)):
            errors.invalid(steps, value, fault)
    total = 0
    for key, value in mapping(metadata.get("annotations")).items():
        total += size(key) + size(text(value))
        if fault := qualified_fault(key.lower()):
            errors.invalid((*place, "annotations", key), key, fault)
    if total > _MAX_ANNOTATIONS:
        errors.too_long((*place, "annotations"), _MAX_ANNOTATIONS)
    for index, finalizer in enumerate(sequence(metadata.get("finalizers"))):
        if fault := qualified_fault(text(finalizer)):
            errors.invalid((*place, "finalizers", index), text(finalizer), fault)


def extended_resource_fault(name: str) -> str:
    """Say what is wrong with the name of an extended resource; empty for a good one."""
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests.") or qualified_fault(f"requests.{name}"):
        return "must be a valid extended resource name"
    return ""
