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
