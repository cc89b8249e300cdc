"""Run Kubernetes' own tests of DRA with dragoman, then with the built-in controller.

`make test-upstream` (ARGS="--kubernetes v1.37.2 --suite node") builds the tests from the published
module k8s.io/kubernetes. kube-controller-manager runs all its controllers but for the claim
controller, whose place dragoman takes. docs/upstream.md gets the results. The suites:

* e2e: end-to-end tests that need pods scheduled, not run. Pods with a node are reported as Ready,
  and deleted pods go.
* node: end-to-end tests whose pods run, on real nodes (`nodes.py`).
* integration: tests that start an API server themselves (`integration.py`).
"""

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.upstream import integration, nodes
from tests.upstream.controller import dragoman, start_controllers
from tests.upstream.ginkgo import Suite
from tests.upstream.kubelet import Kubelets
from tests.upstream.results import (
    CONTROL_PLANE,
    PASSED,
    PODS,
    Spec,
    failures,
    left_out,
    summary,
)
from tests.upstream.versions import needs, switched_on

DRAGOMAN, BUILT_IN = "dragoman", "built-in"
SUITES = ("e2e", "node", "integration")
NODES = 4
LEFT_OUT = ("node-lifecycle-controller", "taint-eviction-controller")
"""Controllers that would take nodes without a kubelet for lost."""
PAGE = Path("docs/upstream.md")


def run(name: str, version: str, focus: str, folder: Path) -> dict[str, Spec]:
    """Run the specs beside one claim controller; return their results."""
    wanted = needs(version)
    plane = ControlPlane(
        version,
        scheduler=True,
        feature_gates=switched_on(*wanted.gates),
        runtime_config=switched_on(*wanted.served),
        audit=False,
        service_accounts=True,
    )
    with ExitStack() as stack:
        stack.enter_context(plane)
        own = name == DRAGOMAN
        start_controllers(plane, *LEFT_OUT, own=own)
        stack.enter_context(dragoman(plane, own=own))
        plane.api().create_many(node(index) for index in range(NODES))
        stack.enter_context(Kubelets(plane.api()))
        binary = binaries.find(["upstream"], version)["upstream"]
        suite = Suite(binary, plane.kubeconfig, folder)
        print(f"{version}, {name}: running specs, logs in {folder}", flush=True)
        return suite.run(f"{version}-{name}", [focus], f"--ginkgo.skip={PODS}")


def node(index: int) -> Json:
    """Return a node as e2e tests expect one: Linux, schedulable."""
    made = objects.node(f"node-{index}", pods=200)
    made["metadata"]["labels"] |= {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return made


def record(version: str, lines: list[str]) -> None:
    """Replace the part of docs/upstream.md about a version."""
    begin, end = f"<!-- {version}:begin -->", f"<!-- {version}:end -->"
    text = PAGE.read_text()
    before, found, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if not found:
        before, after = f"{text.rstrip()}\n\n", "\n"
    PAGE.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}")


def main() -> int:
    """Run everything; return 1 where a test passes with the built-in controller only."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("--kubernetes", default=binaries.chosen_version(), metavar="VERSION")
    parser.add_argument("--suite", choices=SUITES, action="append", help="all, unless named")
    parser.add_argument("--focus", metavar="REGEX", help="end-to-end specs to run, unrecorded")
    parser.add_argument("--workers", type=int, default=4, help="specs at a time on real nodes")
    parser.add_argument("--folder", type=Path, default=Path("build/upstream"))
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    version, suites, worse = options.kubernetes, options.suite or SUITES, list[str]()
    if "e2e" in suites:
        worse += end_to_end(version, options.focus, folder)
    if "node" in suites:
        worse += on_nodes(version, options.focus, folder, options.workers)
    if "integration" in suites:
        worse += integrated(version, folder)
    print("\n".join(f"passes with the built-in controller only: {name}" for name in worse))
    return 1 if worse else 0


def end_to_end(version: str, focus: str | None, folder: Path) -> list[str]:
    """Run and record the specs; return those that pass with the built-in controller only."""
    results = {
        name: run(name, version, focus or CONTROL_PLANE, folder) for name in (DRAGOMAN, BUILT_IN)
    }
    lines = told(f"spec, Kubernetes {version}", results)
    if not focus:
        record(version, lines)
    return only_built_in(results)


def on_nodes(version: str, focus: str | None, folder: Path, workers: int) -> list[str]:
    """Run and record the specs whose pods run; return as `end_to_end`."""
    if why := nodes.obstacle():
        print(f"suite node left out: {why}")
        return []
    results = {
        name: nodes.run(
            version,
            focus or PODS,
            folder / f"{version}-{name}-node",
            own=name == DRAGOMAN,
            workers=workers,
        )
        for name in (DRAGOMAN, BUILT_IN)
    }
    lines = told(f"spec with pods that run, Kubernetes {version}", results)
    if not focus:
        record(f"{version}-node", lines)
    return only_built_in(results)


def told(title: str, results: Mapping[str, Mapping[str, Spec]]) -> list[str]:
    """Print what became of the specs; return the lines for the page."""
    lines = [*summary(title, results), "", *(f"* {one}" for one in left_out(results[DRAGOMAN]))]
    print("\n".join(["", *lines]))
    for name, specs in results.items():
        print("\n".join(f"{name}: {line}" for line in failures(specs)))
    return lines


def integrated(version: str, folder: Path) -> list[str]:
    """Run and record the integration tests; return as `end_to_end`."""
    results = {
        name: integration.run(version, folder, name, own=name == DRAGOMAN)
        for name in (DRAGOMAN, BUILT_IN)
    }
    table = integration.summary(version, results)
    print("\n".join(["", *table]))
    record(f"{version}-integration", table)
    return only_built_in(results)


def only_built_in(results: Mapping[str, Mapping[str, Spec]]) -> list[str]:
    """Return the names of tests that pass with the built-in controller, and not with dragoman."""
    return [
        name
        for name, stock in results[BUILT_IN].items()
        if stock.state == PASSED
        and (name not in results[DRAGOMAN] or results[DRAGOMAN][name].state != PASSED)
    ]


if __name__ == "__main__":
    sys.exit(main())
