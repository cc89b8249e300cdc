"""Kubernetes' named string formats, with the messages of its API machinery."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from dragoman_base.words.dns import LABEL, LABEL_PATTERN, SUBDOMAIN, SUBDOMAIN_PATTERN
from dragoman_cel.values.timestamps import civil_nanos
from dragoman_cel.values.url import url_error

_LABEL_1035_TEXT = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_TEXT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

# The same languages as the patterns above, in forms without long backtracking.
_LABEL_1035 = re.compile(r"[a-z][a-z0-9]*(?:-+[a-z0-9]+)*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*", re.ASCII)
_UUID = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:[^\n]\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A string format; two are equal when they have the same name."""

    name: str  # Kubernetes' internal name, such as `DNS1123Label`
    regex_size: int = field(compare=False)  # Length of the pattern for its cost
    # Returns the errors of a text, none for a valid one
    validate: Callable[[str], list[str]] = field(compare=False, repr=False)


def _dns_label(text: str) -> list[str]:
    errors = _too_long(text, 63, "characters")
    if not LABEL.fullmatch(text):
        dotted = SUBDOMAIN.fullmatch(text)
        rule = _shape(_LABEL_RULE, LABEL_PATTERN, "my-name", "123-abc")
        errors.append("must not contain dots" if dotted else rule)
    return errors


def _dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    errors = _too_long(text, 253, unit)
    if not SUBDOMAIN.fullmatch(text):
        errors.append(_shape(_SUBDOMAIN_RULE, SUBDOMAIN_PATTERN, "example.com"))
    return errors


def _dns_1035_label(text: str) -> list[str]:
    errors = _too_long(text, 63, "characters")
    if not _LABEL_1035.fullmatch(text):
        errors.append(_shape(_LABEL_1035_RULE, _LABEL_1035_TEXT, "my-name", "abc-123"))
    return errors


def _as_prefix(check: Callable[[str], list[str]], text: str) -> list[str]:
    """Check a prefix, which may end with a dash because a suffix follows."""
    if len(text.encode(errors="replace")) > 1 and text.endswith("-"):
        # Go replaces the last two bytes; half of a longer character fails the check anyway.
        text = text[:-2] + ("a" if text[-2].isascii() else "\ufffda")
    return check(text)


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        shape = _shape(_NAME_RULE, _NAME_TEXT, "MyName", "my.name", "123-abc")
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {shape}{tail}"]
    errors: list[str] = []
    if slash:
        problems = _dns_subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
        errors += [f"prefix part {problem}" for problem in problems]
    problems = _too_long(name, 63) if name else ["must be non-empty"]
    if not _NAME.fullmatch(name):
        problems.append(_shape(_NAME_RULE, _NAME_TEXT, "MyName", "my.name", "123-abc"))
    return errors + [f"name part {problem}" for problem in problems]


def _label_value(text: str) -> list[str]:
    errors = _too_long(text, 63)
    if text and not _NAME.fullmatch(text):
        shape = _shape(_LABEL_VALUE_RULE, f"({_NAME_TEXT})?", "MyValue", "my_value", "12345")
        errors.append(shape)
    return errors


def _uri(text: str) -> list[str]:
    problem = url_error(text)
    return [] if problem is None else [problem]


def _is(valid: Callable[[str], object], problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if valid(text) else [problem]


def _is_base64(text: str) -> bool:
    return bool(text) and len(text) % 4 == 0 and bool(_BASE64.fullmatch(text))


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    return match is not None and civil_nanos(*map(int, match.groups())) is not None


def _is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    clock = _CLOCK.fullmatch(parts[1]) if len(parts) > 1 and _is_date(parts[0]) else None
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _too_long(text: str, limit: int, unit: str = "bytes") -> list[str]:
    """Count bytes, as Go does, although some messages say characters."""
    if len(text.encode(errors="replace")) > limit:
        return [f"must be no more than {limit} {unit}"]
    return []


def _shape(rule: str, pattern: str, *examples: str) -> str:
    named = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {named}regex used for validation is '{pattern}')"


FORMATS: dict[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", 30, _dns_label),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", 60, _dns_subdomain),
    "dns1035Label": NamedFormat("DNS1035Label", 30, _dns_1035_label),
    "qualifiedName": NamedFormat("QualifiedName", 60, _qualified_name),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", 30, partial(_as_prefix, _dns_label)),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", 60, partial(_as_prefix, _dns_subdomain)
    ),
    "dns1035LabelPrefix": NamedFormat(
        "DNS1035LabelPrefix", 30, partial(_as_prefix, _dns_1035_label)
    ),
    "labelValue": NamedFormat("LabelValue", 40, _label_value),
    "uri": NamedFormat("URI", 1103, _uri),
    "uuid": NamedFormat("uuid", 70, _is(_UUID.fullmatch, "does not match the UUID format")),
    "byte": NamedFormat("byte", 84, _is(_is_base64, "invalid base64")),
    "date": NamedFormat("date", 71, _is(_is_date, "invalid date")),
    "datetime": NamedFormat("datetime", 71, _is(_is_date_time, "invalid datetime")),
}
"""The formats by the names that expressions use: `format.named("uuid")`, `format.uuid()`."""
