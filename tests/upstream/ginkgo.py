"""The binary of Kubernetes' own end-to-end tests, which Ginkgo runs."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.controlplane.process import ThrowawayProcess
from tests.upstream.results import Spec, read

SECONDS = 3900
GRACE = 300
"""Which Ginkgo has for its report, after it has given up."""
SERIAL = "[Serial]"
"""Marks specs beside which no other may run."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests, and the cluster that they test.

    Attributes:
        binary: The tests.
        kubeconfig: An administrator's.
        folder: Where reports and logs go.
    """

    binary: Path
    kubeconfig: Path
    folder: Path

    def run(self, name: str, focus: Sequence[str], *more: str) -> dict[str, Spec]:
        """Run specs; the binary's exit status says no more than its report.

        Args:
            name: Of the report and the log.
            focus: Regular expressions; a spec runs if one of them matches its name.
            more: Further flags.

        Raises:
            SystemExit: There is no report.
        """
        report, log = self.folder / f"{name}.json", self.folder / f"{name}.log"
        command = [
            str(self.binary),
            f"--kubeconfig={self.kubeconfig}",
            "--provider=skeleton",
            *(f"--ginkgo.focus={one}" for one in focus),
            f"--ginkgo.timeout={SECONDS - GRACE}s",
            "--ginkgo.no-color",
            f"--ginkgo.json-report={report}",
            "--dump-logs-on-failure=false",
            *more,
        ]
        report.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        process = ThrowawayProcess(name, command, log)
        process.start()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
        if not report.exists():
            raise SystemExit(f"the tests ended without a report:\n{log.read_text()[-3000:]}")
        return read(report)

    def run_each(self, focus: str, workers: int) -> dict[str, Spec]:
        """Run each spec by a process of its own, some at a time; serial ones follow alone.

        Args:
            focus: A regular expression for the names of the specs.
            workers: How many specs run at the same time.
        """
        specs = self.run("all", [focus], "--ginkgo.dry-run")
        chosen = [name for name, spec in specs.items() if spec.ran]
        together, alone = apart(chosen)
        with ThreadPoolExecutor(workers) as pool:
            done = [*pool.map(self._run_one, range(len(together)), together)]
        done += map(self._run_one, range(len(together), len(chosen)), alone)
        return specs | {one.name: one for one in done}

    def _run_one(self, number: int, name: str) -> Spec:
        spec = self.run(f"{number:02}", [exactly(name)])[name]
        print(f"{spec.state} after {spec.seconds:.0f} s: {name}", flush=True)
        return spec


def apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split specs into those that may run at the same time, and those that run alone."""
    alone = [name for name in names if SERIAL in name]
    return [name for name in names if SERIAL not in name], alone


def exactly(name: str) -> str:
    """Return the regular expression that matches this spec only; Ginkgo prefixes names."""
    return rf"\s{re.escape(name)}$"
