"""The child processes of `dragoman.throwaway`, by their names in tests."""

from dragoman.throwaway.process import LOOPBACK, STOP_SECONDS, Process, free_ports, listens

__all__ = ["LOOPBACK", "STOP_SECONDS", "Process", "free_ports", "listens"]
