"""Which driver or attribute of Kubernetes itself a wrong name can only mean."""

import re

from dragoman.model.standardattributes import STANDARD_TYPES
from dragoman_base.words.nearnames import near_driver
from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.knowledge.devices import (
    ATTRIBUTES,
    COMMON,
    KnownDevices,
    common,
)
from dragoman_toolkit.linting.validation.names import MAX_LABEL, size, subdomain_fault


def standard_name(domain: str, name: str, devices: KnownDevices) -> str | None:
    """Return the attribute of Kubernetes itself that a name can only mean; None for others.

    Names are case-sensitive, and `pcieRoot` in the domain of a driver is published by none.
    """
    if common(domain):
        known = {*STANDARD_TYPES, *devices.names(COMMON, ATTRIBUTES)}
        return None if name in known else closest(name, STANDARD_TYPES, edits=2)
    ours = domain in devices.domains or domain.endswith((".k8s.io", ".kubernetes.io"))
    if not (ours or domain in ("k8s.io", "kubernetes.io")):
        return None
    return (
        None
        if name in devices.names(domain, ATTRIBUTES)
        else closest(name, STANDARD_TYPES, edits=0)
    )


def impossible_driver(name: str) -> bool:
    """Tell whether no driver can have a name."""
    return size(name) > MAX_LABEL or bool(subdomain_fault(name.lower()))


def driver_meant(name: str, devices: KnownDevices) -> str | None:
    """Return the driver that an extended resource or a near name stands for; None without one."""
    tidied = re.sub(r"[\s_]+", "-", name.strip().lower())
    return near_driver(tidied, devices.drivers) if tidied not in devices.drivers else tidied
