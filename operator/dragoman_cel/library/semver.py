"""Semantic versions in expressions."""

from dragoman_cel.state import Functions, paced
from dragoman_cel.values.semver import Semver, is_semver, parse_semver

OVERLOADS: Functions = {
    "semver_is_greater_than": lambda left, right: left.compare(right) > 0,
    "semver_is_less_than": lambda left, right: left.compare(right) < 0,
    "semver_compare_to": Semver.compare,
    "semver_major": lambda version: version.major,
    "semver_minor": lambda version: version.minor,
    "semver_patch": lambda version: version.patch,
}
STATEFUL: Functions = paced(
    1,
    {
        "string_to_semver": parse_semver,
        "string_bool_to_semver": parse_semver,
        "is_semver_string": is_semver,
        "is_semver_string_bool": is_semver,
    },
    call=5,
)
