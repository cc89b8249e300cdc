"""IP addresses and networks as in Go's `net/netip`, without those that Kubernetes rejects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IP:
    """An address without zone."""

    bits: int  # 32 or 128
    number: int  # The address as an unsigned number of that width

    @property
    def family(self) -> int:
        """Return 4 or 6."""
        return 4 if self.bits == 32 else 6

    @property
    def size(self) -> int:
        """Return the length in bytes, the size for costs."""
        return self.bits // 8

    def is_unspecified(self) -> bool:
        """Return whether the address is `0.0.0.0` or `::`."""
        return self.number == 0

    def is_loopback(self) -> bool:
        """Return whether the address is in `127.0.0.0/8` and `::1`."""
        return self.number >> 24 == 127 if self.bits == 32 else self.number == 1

    def is_link_local_multicast(self) -> bool:
        """Return whether the address is in `224.0.0.0/24` and `ff02::/16` (any flags)."""
        if self.bits == 32:
            return self.number >> 8 == 0xE00000
        return self.number >> 112 & 0xFF0F == 0xFF02

    def is_link_local_unicast(self) -> bool:
        """Return whether the address is in `169.254.0.0/16` and `fe80::/10`."""
        return self.number >> 16 == 0xA9FE if self.bits == 32 else self.number >> 118 == 0x3FA

    def is_global_unicast(self) -> bool:
        """Return whether the address has no other kind; private ranges count as global."""
        if self.bits == 32 and self.number == 0xFFFFFFFF:
            return False
        return not (
            self.is_unspecified()
            or self.is_loopback()
            or self._is_multicast()
            or self.is_link_local_unicast()
        )

    def _is_multicast(self) -> bool:
        return self.number >> 28 == 0xE if self.bits == 32 else self.number >> 120 == 0xFF

    def __str__(self) -> str:
        if self.bits == 32:
            return ".".join(str(self.number >> shift & 0xFF) for shift in (24, 16, 8, 0))
        return _ipv6_text(self.number)


@dataclass(frozen=True, slots=True)
class CIDR:
    """A network; bits behind the prefix may be set and count in `==`."""

    ip: IP  # The address part
    prefix_length: int  # Number of leading bits of the network

    @property
    def size(self) -> int:
        """Return the prefix length in whole bytes, the size for costs."""
        return -(-self.prefix_length // 8)

    def masked(self) -> CIDR:
        """Return the network with the bits behind the prefix cleared."""
        shift = self.ip.bits - self.prefix_length
        return CIDR(IP(self.ip.bits, self.ip.number >> shift << shift), self.prefix_length)

    def is_mask(self) -> bool:
        """Return whether no bit behind the prefix is set."""
        return self == self.masked()

    def contains_ip(self, ip: IP) -> bool:
        """Return whether the address lies in the network; one of the other family never does."""
        shift = self.ip.bits - self.prefix_length
        return ip.bits == self.ip.bits and ip.number >> shift == self.ip.number >> shift

    def contains_cidr(self, other: CIDR) -> bool:
        """Return whether the other network lies wholly in this one."""
        return self.prefix_length <= other.prefix_length and self.contains_ip(other.ip)

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix_length}"


def _ipv6_text(number: int) -> str:
    """Write an IPv6 address with its first longest run of zero fields as `::`."""
    fields = [f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    start, length = _longest_zeros(fields)
    if length < 2:
        return ":".join(fields)
    return ":".join(fields[:start]) + "::" + ":".join(fields[start + length :])


def _longest_zeros(fields: list[str]) -> tuple[int, int]:
    best_start = best_length = length = 0
    for index, field in enumerate(fields):
        length = length + 1 if field == "0" else 0
        if length > best_length:
            best_start, best_length = index - length + 1, length
    return best_start, best_length
