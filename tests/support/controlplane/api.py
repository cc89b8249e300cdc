"""The blocking client of `dragoman.drivers.throwaway`, and waiting, by their names in tests."""

from dragoman.drivers.throwaway.api import (
    Api,
    ApiError,
    Json,
    Objects,
    wait_for,
)
from dragoman.drivers.throwaway.resources import Resource

__all__ = ["Api", "ApiError", "Json", "Objects", "Resource", "wait_for"]
