"""Scenes that simulations begin with."""

from collections.abc import Callable

from tests.unit.dragoman.claims.model_server import Server
from tests.unit.dragoman.claims.objects import PodObject, pod, template
from tests.unit.dragoman.claims.worlds import ClusterState, world
from tests.unit.dragoman.controllers.claims.simulation import Fate, ModelApi

USER = pod().using("gpu", template="my-template")
CREATION = ["POST resourceclaims", "PATCH pods/status"]


def serving(*objects: PodObject, of: ClusterState | None = None) -> ModelApi:
    """Return an API whose server holds pods and their template, or a world."""
    return ModelApi(Server.holding(of or world(template(), *objects)))


def many(count: int) -> list[PodObject]:
    """Return pods of one claim each."""
    return [pod(f"pod-{index}").using("gpu", template="my-template") for index in range(count)]


def failing(*fates: Fate, on: str) -> Callable[[str], Fate]:
    """Return fates for the first requests of a kind."""
    left = list(fates)
    return lambda name: left.pop(0) if name == on and left else ""


def names(api: ModelApi) -> list[str]:
    """Return the names of all claims."""
    return sorted(found.name for found in api.server.objects("ResourceClaim"))
