"""Run the kit against every driver with one fault: `make test-mutants`.

Each fault must fail the check that it breaks, and of the neighbours of that check only those that
follow from it. What was run is kept in build/mutants.json: a second call goes on from there.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman_drivers.conformance import checks, profile
from dragoman_drivers.conformance.running import (
    SERVER_FLAGS,
    Board,
    RunPlan,
    prepare_plane,
    run_lane,
)
from dragoman_drivers.conformance.scenarios import Scenario, all_scenarios
from dragoman_drivers.conformance.site import Setting
from dragoman_drivers.throwaway.plane import Plane
from tests.e2e.conformance import kit
from tests.e2e.conformance.follows import ANY, FOLLOWS
from tests.e2e.conformance.kit import Variant
from tests.support.controlplane import binaries

STATE = Path("build/mutants.json")
COSTLY = {"U8", "I4", "K6", "I8", "K3", "K8", "K9", "P6", "P8", "R10"}
"""Checks that are no neighbours: they cost more than the others of their lane together."""
BESIDE = {"R2": {"P1"}, "K1": {"I3"}, "V2": {"R4"}}
"""Further checks beside a check, of other lanes."""


@dataclass(frozen=True)
class Result:
    """What the kit says of a driver with a fault.

    Attributes:
        failed: Ids of checks that failed, with their reasons.
        not_run: Ids of checks that were not run, with their reasons.
        seconds: How long it took.
    """

    failed: dict[str, str]
    not_run: dict[str, str]
    seconds: float

    def problem(self, variant: Variant) -> str:
        """Return what is not as it must be; the empty text for nothing."""
        if variant.check not in self.failed:
            return f"{variant.check} does not fail"
        follows = FOLLOWS.get(variant.name, {})
        surplus = sorted(self.failed.keys() - {variant.check} - follows.keys())
        if ANY in follows:
            return ""
        return f"{', '.join(surplus)} fail too" if surplus else ""


def neighbours(variant: Variant) -> list[Scenario]:
    """Return what is run for a fault: its check, and the cheap ones of the same group and lane.

    Where every other check may fail too, none of them says anything.
    """
    check, known = variant.check, all_scenarios()
    own = known[check]
    if ANY in FOLLOWS.get(variant.name, {}):
        return [own]
    near = [
        one
        for one in known.values()
        if one.id != check
        and (one.lane == own.lane or one.id in BESIDE.get(check, ()))
        and not one.waits
        and one.id not in COSTLY
    ]
    return [own, *near]


def run(plane: Plane, variant: Variant, node: str) -> Result:
    """Run the kit against a driver with a fault, on one node."""
    start = time.monotonic()
    scenarios = neighbours(variant)
    table = checks.by_id()
    plan = RunPlan(
        kit.command(*variant.faults),
        tuple(table[one.id] for one in scenarios),
        profile.parse(variant.profile),
        tuple(variant.manifests),
        quick=variant.name not in kit.WHOLE,
    )
    account = prepare_plane(plane.api(), plan.manifests)
    board = Board(plan, lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="dk-") as folder:
        setting = Setting(
            plane, plan.command, plan.profile, account, Path(folder), plan.quick, plan.manifests
        )
        run_lane(setting, node, scenarios, board)
    outcomes = board.report().outcomes
    return Result(
        {one.check.id: one.reason for one in outcomes if one.status == checks.FAIL},
        {one.check.id: one.reason for one in outcomes if one.status == checks.NOT_RUN},
        round(time.monotonic() - start, 1),
    )


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Run what is left of the table; return 0 where every fault was found."""
    options = _options(arguments)
    wanted = [one for one in kit.variants() if not options.only or one.name in options.only]
    wanted = [one for one in wanted if not options.check or one.check in options.check]
    known: dict[str, Any] = json.loads(STATE.read_text()) if STATE.exists() else {}
    if options.again:
        known = {name: one for name, one in known.items() if name not in {v.name for v in wanted}}
    left = [one for one in wanted if one.name not in known]
    if left:
        found = binaries.find(["etcd", "kube-apiserver"])
        with Plane(found, SERVER_FLAGS) as plane, ThreadPoolExecutor(options.jobs) as threads:
            stamp = f"m{int(time.time()) % 10000}"

            def one(at: int) -> None:
                result = run(plane, left[at], f"{stamp}x{at}")
                known[left[at].name] = vars(result)
                STATE.parent.mkdir(exist_ok=True)
                STATE.write_text(json.dumps(known, indent=1))
                print(_line(left[at], result), flush=True)

            for job in [threads.submit(one, at) for at in range(len(left))]:
                job.result()
    return _summary(wanted, known)


def _summary(wanted: Sequence[Variant], known: dict[str, Any]) -> int:
    found = {one: Result(**known[one.name]) for one in wanted}
    print(f"\n{'check':<6}{'fault':<22}failed checks")
    for one, result in found.items():
        print(_line(one, result))
    bad = [one.name for one, result in found.items() if result.problem(one)]
    covered = {one.check for one, result in found.items() if one.check in result.failed}
    print(f"\n{len(found)} faults, {len(found) - len(bad)} as they must be; {len(covered)} checks")
    return 1 if bad else 0


def _line(variant: Variant, result: Result) -> str:
    problem = result.problem(variant)
    own = f"{variant.check} " if variant.check in result.failed else ""
    rest = " ".join(sorted(result.failed.keys() - {variant.check}))
    line = f"{variant.check:<6}{variant.name:<22}{own}{rest}".ljust(60)
    reason = result.failed.get(variant.check) or result.not_run.get(variant.check, "")
    return (
        f"{line}{result.seconds:6.1f}s  {'WRONG: ' + problem if problem else 'ok'}: {reason[:110]}"
    )


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="faults; all by default")
    parser.add_argument("--check", action="append", help="faults of these checks alone")
    parser.add_argument("--again", action="store_true", help="also what was run before")
    parser.add_argument("--jobs", type=int, default=3, help="drivers at once")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
