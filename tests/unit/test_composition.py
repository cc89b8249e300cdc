"""Which controllers the operator loads."""

import subprocess
import sys

LOADED = "import sys, dragoman.process.operator; print(*sys.modules)"


def test_what_claims_never_need_is_not_loaded_at_the_start() -> None:
    """CEL, the allocator and JSON Schema take longer to load than all else."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    packages = {".".join(name.split(".")[:2]) for name in done.stdout.split()}
    assert "dragoman.claims" in packages
    assert not packages & {
        "dragoman.allocation",
        "dragoman.cel",
        "dragoman.diagnosis",
        "dragoman.driverconfigs",
        "dragoman.inventory",
    }


SERVER = """
import sys
from dragoman.cli.imports import without_models
with without_models():
    import dragoman.cli.server
print(*sys.modules)
import kubernetes.client
kubernetes.client.V1Pod()
"""


def test_the_processes_of_a_cluster_do_not_load_the_models_of_the_client_library() -> None:
    """They take a third of the start and 20 MB; a kubeconfig that needs them loads them later."""
    done = subprocess.run(
        [sys.executable, "-c", SERVER], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "kopf" in loaded
    assert not [name for name in loaded if name.partition(".")[0] == "kubernetes"]
