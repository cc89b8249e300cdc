"""Which controllers the operator loads."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

LOADED = "import sys, dragoman.process.operator; print(*sys.modules)"


def test_what_claims_never_need_is_not_loaded_at_the_start() -> None:
    """CEL, the allocator and JSON Schema take longer to load than all else."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert {"dragoman.claims", "dragoman_base"} <= {*loaded}
    heavy = {
        "dragoman.allocation",
        "dragoman_cel",
        "dragoman.diagnosis",
        "dragoman_configs",
        "dragoman.inventory",
    }
    assert all(find_spec(name) for name in heavy)
    assert heavy.isdisjoint(loaded)


SERVER = """
import sys
from importlib import import_module
from click.testing import CliRunner
name = sys.argv[1]
command = getattr(import_module("dragoman.cli." + name), name)
assert CliRunner().invoke(command, ["--kubeconfig", "/nowhere"]).exit_code
print(*sys.modules)
import kubernetes.client
kubernetes.client.V1Pod()
"""


@pytest.mark.parametrize("command", ["operator", "webhook"])
def test_the_processes_of_a_cluster_do_not_load_the_models_of_the_client_library(
    command: str,
) -> None:
    """They take a third of the start and 20 MB; a kubeconfig that needs them loads them later."""
    done = subprocess.run(
        [sys.executable, "-c", SERVER, command], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "kopf" in loaded
    assert not [name for name in loaded if name.partition(".")[0] == "kubernetes"]
