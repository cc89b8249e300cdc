"""Kubernetes' integration tests of DRA, with a claim controller that runs as its own process.

These tests start API server, scheduler and the built-in claim controller inside their process. The
build copies the package from the published module and changes the one statement that runs the
controller, so that it can run a command instead (go/integration/claimcontroller.go).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dragoman_toolkit.replacing import replace_file
from tests.support.controlplane import artifacts, binaries
from tests.support.controlplane.gobuild import say
from tests.support.controlplane.toolchain import MODULES, go_for, pinned_module
from tests.upstream.results import Spec

NAME = "integration"
SOURCES = MODULES / "integration"
PACKAGE = "k8s.io/kubernetes/test/integration/dra"
RUNS = re.compile(r"controller\.Run\(claimControllerCtx, 1[^)]*\)")
INSTEAD = "runClaimController(claimControllerCtx, func() { controller.Run(claimControllerCtx, 1) })"
CONFIGURATIONS = "^(all|GA)$"
TESTS = (
    "DerivedAttributes",
    "DRANodeAllocatableResources",
    "ShareResourceClaimSequentially",
    "WorkloadResourceClaims",
)
"""The tests that start the claim controller, but for one that reads metrics of its process."""
OPERATOR = (sys.executable, "-m", "dragoman", "operator", "--claims=own", "--no-leader-elect")
SECONDS = 1200
FIXTURES = "k8s.io/kubernetes@{version}/cmd/kube-apiserver/app/testing/testdata"
"""Where the test API server keeps its certificate, below $TEST_SRCDIR: its sources' folder."""
RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): TestDRA/(\S+) \(([0-9.]+)s\)$", re.MULTILINE)
STATES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


def built(version: str) -> Path:
    """Return the test binary of a version, after building it where it or its pins are new."""
    module = pinned_module(f"upstream-{version}")
    target = artifacts.cache_root() / version / NAME
    stamp = target.with_name(f".{NAME}.stamp")
    pins = artifacts.fingerprint(module, "".join(one.read_text() for one in _sources()))
    if not artifacts.is_current(target, stamp, pins):
        target.parent.mkdir(parents=True, exist_ok=True)
        with binaries.locked(target.with_name(".lock")):
            _build(module, target)
            replace_file(stamp, pins.encode())
    return target


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.go"))


def _build(module: Path, target: Path) -> None:
    go = str(go_for(module, artifacts.cache_root()))
    with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=target.parent) as scratch:
        folder = Path(scratch)
        for name in ("go.mod", "go.sum"):
            shutil.copy(module / name, folder)
        copied(Path(_go(folder, go, "list", "-f", "{{.Dir}}", PACKAGE).strip()), folder / "dra")
        for source in _sources():
            shutil.copy(source, folder if source.name.endswith("_test.go") else folder / "dra")
        say(f"{NAME}: building from source, usually 2 min on 2 cores")
        options = ("-vet=off", "-trimpath", "-ldflags=-s -w", "-o", NAME)
        _go(folder, go, "test", "-c", *options, ".")
        (folder / NAME).replace(target)


def _go(folder: Path, *command: str) -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed\n{result.stderr[-3000:]}")
    return result.stdout


def copied(package: Path, folder: Path) -> None:
    """Copy the package without its tests, and let it run the claim controller through our file.

    Raises:
        RuntimeError: The package starts the controller in another way than it did.
    """
    folder.mkdir()
    changed = 0
    for source in package.glob("*.go"):
        if not source.name.endswith("_test.go"):
            text, count = RUNS.subn(INSTEAD, source.read_text())
            (folder / source.name).write_text(text)
            changed += count
    if changed != 1:
        raise RuntimeError(f"{PACKAGE} starts the claim controller in {changed} places, not in one")


def run(version: str, folder: Path, name: str, *, own: bool) -> dict[str, Spec]:
    """Run the tests with dragoman, or with the built-in controller; return their results."""
    binary = built(version)
    etcd = binaries.find(["etcd"], version)["etcd"]
    logs = folder / f"{version}-{name}-{NAME}"
    shutil.rmtree(logs, ignore_errors=True)
    (logs / "src" / FIXTURES.format(version=version)).mkdir(parents=True)
    environment = os.environ | {
        "TEST_SRCDIR": str(logs / "src"),
        "TEST_WORKSPACE": ".",
        "PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}",
        "CONFIGURATIONS": CONFIGURATIONS,
        "CLAIM_CONTROLLER": " ".join(OPERATOR) if own else "",
        "CLAIM_CONTROLLER_LOGS": str(logs),
    }
    chosen = f"-test.run=^TestDRA$/{CONFIGURATIONS}/^({'|'.join(TESTS)})$"
    command = [str(binary), "-test.v", chosen, f"-test.timeout={SECONDS}s"]
    log = logs / "log"
    print(f"{version}, {name}: running integration tests, log in {log}", flush=True)
    with log.open("wb") as sink:
        subprocess.run(command, cwd=logs, env=environment, stdout=sink, stderr=sink, check=False)
    return read(log.read_text(errors="replace"))


def read(log: str) -> dict[str, Spec]:
    """Read results from a log of Go's test runner: those of tests, not of their steps."""
    found = (
        Spec(name, STATES[state], float(seconds))
        for state, name, seconds in RESULT.findall(log)
        if name.count("/") == 1
    )
    results = {spec.name: spec for spec in found}
    if not results:
        raise SystemExit(f"the integration tests ended without results:\n{log[-3000:]}")
    return dict(sorted(results.items()))


def summary(version: str, results: Mapping[str, Mapping[str, Spec]]) -> list[str]:
    """Return the lines of a table: a row for each test, a column for each controller."""
    names = dict.fromkeys(name for specs in results.values() for name in specs)
    lines = [f"| integration test, Kubernetes {version} | {' | '.join(results)} |"]
    lines.append("|---|" + "---|" * len(results))
    for name in names:
        cells = (specs[name].state if name in specs else "-" for specs in results.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines
