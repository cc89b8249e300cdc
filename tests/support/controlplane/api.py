"""The blocking client of `dragoman_drivers.throwaway`, and waiting, by their names in tests."""

from dragoman_drivers.throwaway.api import (
    Api,
    ApiError,
    Json,
    Objects,
    wait_for,
)
from dragoman_drivers.throwaway.resources import Resource

__all__ = ["Api", "ApiError", "Json", "Objects", "Resource", "wait_for"]
