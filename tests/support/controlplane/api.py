"""The blocking client of `dragoman.throwaway`, and waiting, by their names in tests."""

from dragoman.throwaway.api import (
    Api,
    ApiError,
    Json,
    Objects,
    wait_for,
)
from dragoman.throwaway.resources import Resource

__all__ = ["Api", "ApiError", "Json", "Objects", "Resource", "wait_for"]
