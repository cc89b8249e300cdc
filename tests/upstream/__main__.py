"""Run Kubernetes' own end-to-end tests of DRA with dragoman, then with the built-in controller.

`make test-upstream` (ARGS="--kubernetes v1.37.1 --focus 'control plane'") builds the tests from the
published module k8s.io/kubernetes, and runs those that need pods scheduled, not run: pods with a
node are reported as Ready, and deleted pods go. kube-controller-manager runs all its controllers
but for the claim controller, whose place dragoman takes. docs/upstream.md gets the results.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support.controlplane import binaries, objects
from tests.support.controlplane.api import Json
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane
from tests.upstream import integration
from tests.upstream.kubelet import Kubelets
from tests.upstream.results import PASSED, Spec, failures, left_out, read, summary

DRAGOMAN, BUILT_IN = "dragoman", "built-in"
FOCUS: Final = "control plane|CRUD Tests|ResourceSlice Controller"
NODES = 4
GATES = {
    "v1.36": {"DRAResourcePoolStatus": True, "GenericWorkload": True},
    "v1.37": {"DRAResourcePoolStatus": True, "GenericWorkload": True},
}
"""Gates that are off by default and that specs of the control plane need."""
VERSIONS = {
    "v1.36": ("resource.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2"),
    "v1.37": ("resource.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1"),
}
LEFT_OUT = ("node-lifecycle-controller", "taint-eviction-controller")
"""Controllers that would take nodes without a kubelet for lost."""
PAGE = Path("docs/upstream.md")


def controllers(name: str) -> list[str]:
    """Return the value of --controllers for a run."""
    off = [*LEFT_OUT, *(() if name == BUILT_IN else (CLAIM_CONTROLLER,))]
    return ["*", *(f"-{one}" for one in off)]


def run(name: str, version: str, focus: str, folder: Path) -> dict[str, Spec]:
    """Run the specs beside one claim controller; return their results."""
    minor = version.rpartition(".")[0]
    served = dict.fromkeys(VERSIONS.get(minor, ()), True)
    plane = ControlPlane(
        version,
        scheduler=True,
        feature_gates=GATES.get(minor),
        runtime_config=served,
        audit=False,
        service_accounts=True,
    )
    with ExitStack() as stack:
        stack.enter_context(plane)
        authority = f"--root-ca-file={plane.credentials.keys.authority}"
        flags = [*UNTHROTTLED.flags(), authority]
        plane.start_controllers("controllers", controllers(name), flags)
        operator = None
        if name == DRAGOMAN:
            user = plane.user("dragoman", OPERATOR_RULES)
            operator = stack.enter_context(OperatorProcess(plane, user))
        plane.api().create_many(node(index) for index in range(NODES))
        stack.enter_context(Kubelets(plane.api()))
        report = folder / f"{version}-{name}.json"
        log = folder / f"{version}-{name}.log"
        print(f"{version}, {name}: running specs, log in {log}", flush=True)
        test(binaries.find(["upstream"], version)["upstream"], plane, focus, report, log)
        if operator is not None and (faults := operator.faults()):
            print("\n".join(faults))
    return read(report)


def node(index: int) -> Json:
    """Return a node as e2e tests expect one: Linux, schedulable."""
    made = objects.node(f"node-{index}", pods=200)
    made["metadata"]["labels"] |= {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return made


def test(binary: Path, plane: ControlPlane, focus: str, report: Path, log: Path) -> None:
    """Run the binary; its exit status says no more than its report."""
    command = [
        str(binary),
        f"--kubeconfig={plane.kubeconfig}",
        "--provider=skeleton",
        f"--ginkgo.focus={focus}",
        "--ginkgo.skip=\\bkubelet\\b",
        "--ginkgo.timeout=60m",
        "--ginkgo.no-color",
        f"--ginkgo.json-report={report}",
        "--dump-logs-on-failure=false",
    ]
    report.unlink(missing_ok=True)
    with log.open("wb") as sink:
        subprocess.run(command, cwd=report.parent, stdout=sink, stderr=sink, check=False)
    if not report.exists():
        raise SystemExit(f"the tests ended without a report:\n{log.read_text()[-3000:]}")


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
    parser.add_argument("--focus", default=FOCUS, metavar="REGEX", help="specs to run")
    parser.add_argument("--folder", type=Path, default=Path("build/upstream"))
    parser.add_argument("--suite", choices=("e2e", "integration"), help="one of the suites only")
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    version, worse = options.kubernetes, list[str]()
    if options.suite != "integration":
        worse += end_to_end(version, options.focus, folder)
    if options.suite != "e2e":
        worse += integrated(version, folder)
    print("\n".join(f"passes with the built-in controller only: {name}" for name in worse))
    return 1 if worse else 0


def end_to_end(version: str, focus: str, folder: Path) -> list[str]:
    """Run and record the specs; return those that pass with the built-in controller only."""
    results = {name: run(name, version, focus, folder) for name in (DRAGOMAN, BUILT_IN)}
    table, out = summary(version, results), left_out(results[DRAGOMAN])
    print("\n".join(["", *table, "", *out]))
    for name, specs in results.items():
        print("\n".join(f"{name}: {line}" for line in failures(specs)))
    if focus == FOCUS:
        record(version, [*table, "", *(f"* {line}" for line in out)])
    return only_built_in(results)


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
