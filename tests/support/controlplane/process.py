"""The child processes of `dragoman_drivers.throwaway`, by their names in tests."""

from dragoman_drivers.throwaway.process import (
    LOOPBACK,
    STOP_SECONDS,
    ThrowawayProcess,
    free_ports,
    listens,
)

__all__ = ["LOOPBACK", "STOP_SECONDS", "ThrowawayProcess", "free_ports", "listens"]
