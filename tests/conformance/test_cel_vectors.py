"""Every recorded answer of the Kubernetes code, as a test."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parents[2] / "shared" / "vectors"
FILES = (
    "crd-cel-vectors.json",
    "crd-cel-vectors-extended.json",
    "dra-cel-vectors.json",
    "dra-cel-vectors-extended.json",
    "k8s-lib-vectors.json",
    "cel-spec-vectors.json",
)


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cel_vectors_runner", HERE / "cel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FILES)
def test_kubernetes_would_give_the_same_outcome_and_cost(name: str) -> None:
    path = VECTORS / name
    if not path.exists():
        pytest.skip(f"{path.parent} with the recorded answers of Kubernetes is not there")
    verdicts = list(_runner().run(path))
    assert verdicts
    assert [
        f"{verdict.name}: {verdict.difference}" for verdict in verdicts if verdict.difference
    ] == []
