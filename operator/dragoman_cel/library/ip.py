"""IP addresses in expressions."""

from dragoman_cel.state import Functions, paced
from dragoman_cel.values.ip import IP
from dragoman_cel.values.ipparser import is_canonical_ip, is_ip, parse_ip

_READ_PER_STEP = 0.3
"""Code points of an address that a plain step reads."""

OVERLOADS: Functions = {
    "ip_family": lambda address: address.family,
    "ip_is_unspecified": IP.is_unspecified,
    "ip_is_loopback": IP.is_loopback,
    "ip_is_link_local_multicast": IP.is_link_local_multicast,
    "ip_is_link_local_unicast": IP.is_link_local_unicast,
    "ip_is_global_unicast": IP.is_global_unicast,
}
STATEFUL: Functions = paced(
    _READ_PER_STEP,
    {"string_to_ip": parse_ip, "is_ip": is_ip, "ip_is_canonical": is_canonical_ip},
    call=4,
)
