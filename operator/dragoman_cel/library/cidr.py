"""IP networks in expressions."""

from dragoman_cel.errors import OperationError
from dragoman_cel.representation import no_such_overload
from dragoman_cel.state import Functions, paced
from dragoman_cel.values.ip import CIDR
from dragoman_cel.values.ipparser import is_cidr, parse_cidr, parse_ip

_READ_PER_STEP = 0.3
"""Code points of an address that a plain step reads."""


def _contains_text(network: CIDR, text: str) -> bool:
    if type(network) is not CIDR:
        # The checker accepts null here; see Program.untyped.
        raise TypeError
    try:
        address = parse_ip(text)
    except OperationError:
        # Kubernetes drops the reason why the text is not an address.
        raise no_such_overload() from None
    return network.contains_ip(address)


OVERLOADS: Functions = {
    "cidr_ip": lambda network: network.ip,
    "cidr_is_mask": CIDR.is_mask,
    "cidr_masked": CIDR.masked,
    "cidr_prefix_length": lambda network: network.prefix_length,
    "cidr_contains_ip_ip": CIDR.contains_ip,
    "cidr_contains_cidr": CIDR.contains_cidr,
}
STATEFUL: Functions = paced(
    _READ_PER_STEP,
    {
        "string_to_cidr": parse_cidr,
        "is_cidr": is_cidr,
        "cidr_contains_ip_string": _contains_text,
        "cidr_contains_cidr_string": lambda network, text: network.contains_cidr(parse_cidr(text)),
    },
    call=4,
)
