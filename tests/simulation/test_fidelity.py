"""The model of the API server answers as a real one does."""

import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.simulation.fidelity import Ask, answers, steps
from tests.simulation.objects import Json
from tests.simulation.replaying import Replay, recorded
from tests.simulation.requests import handle
from tests.simulation.server import Server
from tests.support.controlplane.api import ApiError
from tests.support.controlplane.plane import ControlPlane


def of_model() -> Ask:
    server = Server(random.Random(1))

    def ask(method: str, path: str, body: Json | None, kind: str) -> tuple[int, Json]:
        content = None if body is None else orjson.dumps(body)
        code, answer, _ = handle(server, "user", method, path, content, kind)
        return code, orjson.loads(answer)

    return ask


def of_server(plane: ControlPlane) -> Ask:
    api = plane.api()

    def ask(method: str, path: str, body: Json | None, kind: str) -> tuple[int, Json]:
        try:
            return 200, api.request(method, path, body, content_type=kind)
        except ApiError as error:
            details: dict[str, Any] = error.details or {}
            return error.code, {"reason": error.reason, "details": details}

    return ask


def test_the_table_has_about_sixty_requests() -> None:
    names = [one.name for one in steps()]
    assert len(names) == len(set(names)) >= 60


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run an API server that serves everything, and nothing that acts."""
    served = {"resource.k8s.io/v1beta2": True}
    gates = {"DRADeviceTaints": True, "DRADeviceTaintRules": True}
    with ControlPlane(feature_gates=gates, runtime_config=served) as running:
        yield running


@pytest.mark.slow
def test_every_request_is_answered_alike(plane: ControlPlane, namespace: str) -> None:
    real, model = answers(of_server(plane), namespace), answers(of_model(), namespace)
    differ = [name for name in real if model[name] != real[name]]
    for name in differ:
        print(f"{name}\n  model:  {model[name]}\n  server: {real[name]}")
    assert differ == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_run_without_faults_ends_in_the_same_state_on_a_real_server(
    plane: ControlPlane, seed: int
) -> None:
    commits, wanted = recorded(seed)
    namespaces = {name: plane.create_namespace() for name in ("a", "b")}
    replay = Replay(of_server(plane), namespaces)
    replay.all(commits)
    assert replay.refused == []
    assert len(commits) > 20
    assert replay.state() == wanted
