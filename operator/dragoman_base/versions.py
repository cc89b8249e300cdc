"""Versions of Kubernetes: which are known, what each does, and what it serves no more.

docs/kubernetes-versions.md lists what a new one needs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

Version = tuple[int, int]

OLDEST: Version = (1, 34)
"""The first version that serves resource.k8s.io/v1."""
DEFAULT: Version = (1, 36)
"""How a cluster behaves that does not say its version."""
RELEASED: Version = (1, 37)
"""The newest release; what is known of a later version is that of a pre-release."""
NEWEST: Version = (1, 38)
"""What is newer counts as this, and every answer about it says so: see `beyond`."""
KNOWN: tuple[Version, ...] = tuple((1, minor) for minor in range(OLDEST[1], NEWEST[1] + 1))

NEXT: Version = (NEWEST[0], NEWEST[1] + 1)
"""The release whose removals are known, and nothing else of it."""
TARGETS = (*KNOWN, NEXT)
_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
GROUP = "resource.k8s.io"
"""The API group of Dynamic Resource Allocation."""
REMOVED_IN: Mapping[tuple[str, str], Version] = MappingProxyType(
    {
        **{("v1beta1", kind): (1, 38) for kind in _KINDS},
        **{("v1beta2", kind): (1, 39) for kind in _KINDS},
        ("v1alpha3", "DeviceTaintRule"): (1, 39),
        ("v1beta2", "DeviceTaintRule"): (1, 42),
        ("v1alpha3", "ResourcePoolStatusRequest"): (1, 42),
    }
)
"""First release without a kind in a version of resource.k8s.io, by version and kind.

Source: k8s.io/api v0.38.0-beta.0, resource/*/zz_generated.prerelease-lifecycle.go.
"""

OWN_DOMAIN_REFUSED: Version = (1, 38)
"""First release of the drivers' helper library that publishes no slice with a name that carries the
driver's own domain (kubernetes#142218)."""


class Since:
    """A field that states whether a release has a behaviour that came with a minor version."""

    def __init__(self, minor: int) -> None:
        self._first = (1, minor)

    def __get__(self, instance: "Release", owner: Any) -> bool:
        return instance.version >= self._first


@dataclass(frozen=True, slots=True)
class Release:
    """What one version of Kubernetes does otherwise than others: the table of behaviours.

    Code that decides by the version has one and asks for a behaviour by its name; so code names no
    version, and a new one adds lines here and code where they act.
    """

    version: Version = DEFAULT  # Such as (1, 36)

    @property
    def kubernetes(self) -> str:
        """The version as text, such as "1.36"."""
        return name(self.version)

    # kube-scheduler: k8s.io/dynamic-resource-allocation/structured
    incomplete_pools_unused = Since(35)
    """A pool that is incomplete on a node has no devices there."""
    invalid_pools_passed = Since(35)
    """An invalid pool does not end the attempt of a node that needs none of its devices."""
    subrequests_apart = Since(36)
    """Each subrequest for all devices has devices of its own."""
    all_means_exhausted = Since(37)
    """A request for all devices means those that others exhausted, too, and so fails."""
    amounts_checked = Since(37)
    """An amount that int64 cannot hold ends the attempt; before, it wraps around."""
    compatibility_groups = Since(37)
    """Devices have compatibility groups."""
    configs_once = Since(37)
    """A config is copied once; before, once for each request that it names."""
    constraints_restored = Since(37)
    """What a rejected device narrowed is wide again, and each device of a request is compared."""
    counters_by_driver = Since(37)
    """Pools of one name have counters of their own in each driver."""
    counters_by_node = Since(37)
    """Slices with counters belong to the pool on the nodes that they select."""
    derived_attributes = Since(37)
    """Requests have derived attributes."""
    devices_limited = Since(37)
    """Requests that need more devices than a claim may have end the attempt early."""
    list_gate_passed = Since(37)
    """The scheduler passes the gate of list attributes on (kubernetes/kubernetes#139332)."""
    lists_in_selectors = Since(37)
    """Selectors see attributes as lists where they say so."""
    rules_need_selector = Since(37)
    """A DeviceTaintRule without selector taints nothing; before, every device."""
    selectors_advised = Since(37)
    """Errors of selectors name the device, and how to guard against absent names."""
    shares_without_capacity = Since(37)
    """A device is shared also where no share of it consumes capacity."""
    taints_before_counters = Since(37)
    """Counters of a tainted device are not looked at."""
    broken_pools_of_node = Since(38)
    """A request for all devices that meets a broken pool fails on this node; before, on all."""
    names_qualified = Since(38)
    """A name without domain and one with the driver's are the same attribute or capacity."""
    negative_holdings_fatal = Since(38)
    """A claim that holds a negative capacity ends every attempt until it is gone."""
    negative_requests_refused = Since(38)
    """A negative request ends the attempt; before, a policy could round it up."""
    shares_block = Since(38)
    """A device that is shared no more is not given while shares of it are held."""
    stable_combines = Since(38)
    """The oldest allocator searches as the second one does."""
    unusable_values_fatal = Since(38)
    """A constraint on a value that cannot be used ends the attempt; before, it does not hold."""

    # Selectors and rules: cel-go 0.26 (1.34 to 1.36), 0.29 (1.37), 0.33 (1.38), k8s.io/apiserver. A
    # release evaluates all with its own code, also those that use the library of the one before.
    includes_stored = Since(36)
    """Stored selectors have the function `includes`."""
    affixes_measured = Since(37)
    """`startsWith` and `endsWith` cost by the affix; before, by the text."""
    fields_quoted = Since(37)
    """Fields may be written in backquotes."""
    includes_traversed = Since(37)
    """`includes` costs a traversal, and takes lists of any length."""
    matches_measured = Since(37)
    """`matches` as a function costs as it does as a method."""
    optionals_kept = Since(37)
    """An optional is what it was behind variables and conditions; before, it is converted twice."""
    optionals_only = Since(37)
    """`or` and `orValue` of what is no optional fail; before, they return it."""
    arguments_first = Since(38)
    """A failed argument ends a call, which then costs nothing; before, the call is charged."""
    attributes_lazy = Since(38)
    """An attribute without usable value fails who reads it; before, every selector."""
    contents_measured = Since(38)
    """Sizes follow insertions into maps, optional elements, tests of fields; nothing is in `[]`."""
    empty_iterated = Since(38)
    """Macros have no rounds over an empty text; before, one is an error."""
    failures_qualify = Since(38)
    """A qualifier of an optional that fails is charged; before, it is not."""
    names_suggested = Since(38)
    """Errors about undeclared names suggest near ones."""
    selections_estimated = Since(38)
    """Selections and types are estimated whatever they are of."""
    types_told_apart = Since(38)
    """`int` and `bool` as values are of two types, neither of which is more general."""
    urls_measured = Since(38)
    """Parts of a URL are as long as it is at most."""

    # The API server: pkg/apis/resource/validation
    counters_apart = Since(35)
    """A slice has either devices or counters, and counters are limited."""
    modes_in_schema = Since(36)
    """The OpenAPI names the modes of allocation."""
    domains_lower_case = Since(37)
    """The domain of an attribute in a constraint is a DNS name in lower case."""
    policies_exact = Since(37)
    """Values of policies are compared exactly, and errors name their field."""
    capacity_requests_checked = Since(38)
    """What a request wants of capacities has qualified names and no negative values."""
    node_terms_limited = Since(38)
    """The node selector of a device has one term, too."""
    policies_fractional = Since(38)
    """Policies may have fractions by default (DRAFractionalCapacityRange)."""
    slashes_limited = Since(38)
    """Names of attributes and capacities have at most one slash."""
    version_digits_limited = Since(38)
    """Numbers of versions have at most 18 digits."""

    # Other components
    init_devices_shared = Since(35)
    """Init containers share devices of extended resources with other containers."""
    stale_capacity_served = Since(35)
    """DRA serves a resource whose device plug-in is gone, but whose capacity its node still has."""
    bindings_checked = Since(36)
    """Who writes allocations needs the right to resourceclaims/binding."""
    pool_views = Since(37)
    """ResourcePoolStatusRequests have the views of partitions and of shares."""
    empty_effects_tolerated = Since(38)
    """A toleration without effect keeps a pod from being evicted."""


_RELEASE = re.compile(
    r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[.+-].*)?", re.ASCII | re.DOTALL
)


def parse_release(text: str) -> tuple[int, int, int]:
    """Read a release such as `v1.36.3`, also with a vendor's suffix; the patch is 0 where unsaid.

    Raises:
        ValueError: The text is no version.
    """
    match = _RELEASE.fullmatch(text)
    if match is None:
        shown = text if len(text) <= 32 else f"{text[:32]}…"
        raise ValueError(
            f"invalid Kubernetes version {shown!r}: expected one such as 1.36 or v1.36.2"
        )
    return int(match[1]), int(match[2]), int(match[3] or 0)


def parse(text: str) -> Version:
    """Read the first two numbers of a version, as of `1.36` or `v1.36.2`; raise ValueError."""
    return parse_release(text)[:2]


def known(version: Version) -> Version:
    """Return the known version whose behaviour a version has.

    Raises:
        ValueError: It is older than the oldest one.
    """
    if version < OLDEST:
        raise ValueError(
            f"Kubernetes {name(version)} is too old: resource.k8s.io/v1 exists since {name(OLDEST)}"
        )
    return min(version, NEWEST)


def name(version: Version) -> str:
    """Return a version as text, such as `1.36`."""
    return "{}.{}".format(*version)


def beyond(text: str) -> str:
    """Return what to say of answers about a cluster that is newer than what is known.

    Args:
        text: The server's version, such as `v1.36.3`.

    Returns:
        The words; empty for a version that is known, and for a text that is none.
    """
    try:
        version = parse(text)
    except ValueError:
        return ""
    if version <= NEWEST:
        return ""
    return f"by the rules of {name(NEWEST)}; this cluster is {name(version)}"


def target(text: str) -> Version:
    """Read a target; raise ValueError naming those that are known."""
    version = parse(text)
    if version not in TARGETS:
        listed = ", ".join(map(name, TARGETS))
        raise ValueError(f"Kubernetes {text} is not known; known: {listed}")
    return version


def removal(api_version: str, kind: str) -> Version | None:
    """Return the first release that serves a kind in a version no more, None if none is known."""
    group, _, version = api_version.partition("/")
    return REMOVED_IN.get((version, kind)) if group == GROUP else None
