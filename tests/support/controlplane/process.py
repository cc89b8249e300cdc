"""The child processes of `dragoman.drivers.throwaway`, by their names in tests."""

from dragoman.drivers.throwaway.process import (
    LOOPBACK,
    STOP_SECONDS,
    ThrowawayProcess,
    free_ports,
    listens,
)

__all__ = ["LOOPBACK", "STOP_SECONDS", "ThrowawayProcess", "free_ports", "listens"]
