"""Simulate clusters: `python -m tests.simulation --help`, or `make simulate`."""

import argparse
import json
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

from tests.simulation.enumeration import KINDS, OF, every, in_turns
from tests.simulation.enumeration import run as run_workload
from tests.simulation.execution import Outcome, execute, minimise
from tests.simulation.scenarios import EVERY_DAY, SCENARIOS, SPAN
from tests.simulation.schedule import Event, generate
from tests.simulation.story import story
from tests.simulation.workloads import WORKLOADS

FOUND = Path(__file__).parent / "found"
SHRINKING = 200
"""Most runs in which a schedule is made smaller."""


class Meter:
    """Counts runs, virtual hours and CPU."""

    def __init__(self) -> None:
        self.began, self.cpu = time.perf_counter(), time.process_time()
        self.runs, self.hours, self.failed = 0, 0.0, 0

    def add(self, outcome: Outcome) -> None:
        self.runs += 1
        self.hours += outcome.seconds / 3600
        self.failed += outcome.failed

    @property
    def used(self) -> float:
        return time.process_time() - self.cpu

    def __str__(self) -> str:
        took, used = time.perf_counter() - self.began, self.used
        minute = 60 / used if used else 0.0
        return (
            f"{self.runs} runs, {self.hours:.1f} cluster-hours, {took:.1f} s, {used:.1f} s CPU: "
            f"{self.hours * minute:.0f} cluster-hours and {self.runs * minute:.0f} runs a CPU "
            f"minute; {self.failed} failed"
        )


def explain(events: list[Event], seed: int, name: str, outcome: Outcome) -> None:
    """Print a failure, its smallest schedule, and what repeats it."""
    kind = outcome.violations[0].kind
    print(f"FAILED seed {seed}, scenario {name}: {outcome.violations[0]}")
    small = minimise(events, seed, name, kind, runs=SHRINKING)
    print(f"{len(events)} events, of which {len(small)} suffice:")
    print(json.dumps(small))
    for line in story(execute(small, seed, name)):
        print("  " + line)
    print(f"again: make simulate SEED={seed} SCENARIO={name}", flush=True)


def run(args: argparse.Namespace) -> int:
    """Run random schedules; scenarios take turns."""
    meter, names = Meter(), cycle(args.scenario.split(","))
    failed: Counter[str] = Counter()
    for seed in range(args.first, args.first + args.seeds):
        if args.seconds and meter.used > args.seconds:
            break
        for name in args.scenario.split(",") if args.each else (next(names),):
            events = generate(seed, name)
            outcome = execute(events, seed, name)
            meter.add(outcome)
            if meter.runs % 500 == 0:
                print(f"to seed {seed}: {meter}", file=sys.stderr, flush=True)
            if outcome.failed:
                failed[f"{name} {outcome.violations[0].kind}"] += 1
                if args.brief:
                    print(f"seed {seed} {name}: {outcome.violations[0]}", flush=True)
                else:
                    explain(events, seed, name, outcome)
    print(meter, dict(failed) or "", flush=True)
    return int(bool(meter.failed))


def one(args: argparse.Namespace) -> int:
    """Run one seed again, with its trace."""
    events = generate(args.seed, args.scenario)
    outcome = execute(events, args.seed, args.scenario)
    for line in outcome.trace if args.trace else ():
        print(*line)
    for violation in outcome.violations:
        print(violation)
    print(
        f"digest {outcome.digest}, {outcome.seconds:.1f} virtual s, {outcome.steps} steps, "
        f"settled after {outcome.settled_after:.1f} s, {outcome.writes} writes"
    )
    return int(outcome.failed)


def smaller(args: argparse.Namespace) -> int:
    """Make the schedule of a failing seed smaller."""
    events = generate(args.seed, args.scenario)
    outcome = execute(events, args.seed, args.scenario)
    if not outcome.failed:
        print("no invariant is violated")
        return 0
    explain(events, args.seed, args.scenario, outcome)
    return 1


def of_file(path: Path) -> Outcome:
    """Return the outcome of a schedule that is kept in a file."""
    found = json.loads(path.read_text())
    until = found.get("until", SPAN)
    return execute(found["events"], found["seed"], found["scenario"], until=until)


def replay(args: argparse.Namespace) -> int:
    """Run a schedule of a file."""
    outcome = of_file(Path(args.file))
    print(json.loads(Path(args.file).read_text())["what"])
    for line in story(outcome):
        print("  " + line)
    return int(outcome.failed)


def hunt(args: argparse.Namespace) -> int:
    """Run what was found before, then random seeds and the enumeration in turns, until something
    fails or time is over."""
    meter, enumerated = Meter(), in_turns([*WORKLOADS])
    seed, scenarios = args.first, cycle(args.scenario.split(","))
    for path in sorted(FOUND.glob("*.json")):
        outcome = of_file(path)
        meter.add(outcome)
        if outcome.failed:
            print(f"{path.name}: {outcome.violations[0]}")
            print(meter)
            return 1
    while meter.used < args.seconds:  # CPU: a busy machine changes no verdict
        for _ in range(2):
            name = next(scenarios)
            outcome = execute(generate(seed, name), seed, name)
            meter.add(outcome)
            if outcome.failed:
                print(f"seed {seed} {name}: {outcome.violations[0]}")
                print(meter)
                return 1
            seed += 1
        found = next(enumerated, None)
        if found is not None:
            meter.add(found.outcome)
            if found.outcome.failed:
                print(f"{found}: {found.outcome.violations[0]}")
                print(meter)
                return 1
    print(meter)
    return 0


def enumerate_writes(args: argparse.Namespace) -> int:
    """Perturb every write of every workload."""
    if args.write:
        outcome = run_workload(args.workload, args.write, args.kind).outcome
        for line in story(outcome):
            print(line)
        return int(outcome.failed)
    meter, covered = Meter(), Counter[str]()
    for workload in args.workload.split(",") if args.workload else WORKLOADS:
        runs, failed, writes = 0, 0, 0
        for found in every(workload):
            runs += 1
            meter.add(found.outcome)
            if not found.index:
                writes = len(found.outcome.written)
            if found.outcome.failed:
                failed += 1
                print(f"FAILED {found}: {found.outcome.violations[0]}; {found.command}")
        covered[SCENARIOS[WORKLOADS[workload][0]].world.rows[-1]] += writes
        kinds = len(OF.get(workload, KINDS))
        print(
            f"{workload}: {writes} writes x {kinds} = {runs - 1} runs, {failed} failed", flush=True
        )
        if not writes:
            print(f"FAILED {workload} covers no write")
            meter.failed += 1
    print(meter)
    print("writes covered:", ", ".join(f"{name} {count}" for name, count in covered.items()))
    return int(bool(meter.failed))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    commands = made.add_subparsers(required=True)

    def command(name: str, call: object, *names: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=str(call.__doc__))
        added.set_defaults(call=call)
        for each in names:
            kind = int if each == "seed" else str
            choices = [*SCENARIOS] if each == "scenario" else None
            added.add_argument(each, type=kind, choices=choices)
        return added

    many = command("run", run)
    many.add_argument("--seeds", type=int, default=100, help="how many")
    many.add_argument("--first", type=int, default=1, help="the first seed")
    many.add_argument("--seconds", type=float, default=0, help="of CPU; 0 for no limit")
    many.add_argument("--scenario", default=",".join(EVERY_DAY), help="separated by commas")
    many.add_argument("--each", action="store_true", help="every seed in every scenario")
    many.add_argument("--brief", action="store_true", help="do not make failures smaller")
    command("seed", one, "seed", "scenario").add_argument("--trace", action="store_true")
    command("minimise", smaller, "seed", "scenario")
    command("replay", replay, "file")
    hunting = command("hunt", hunt)
    hunting.add_argument("--seconds", type=float, default=60, help="of CPU")
    hunting.add_argument("--first", type=int, default=1, help="the first seed")
    hunting.add_argument("--scenario", default=",".join(EVERY_DAY), help="separated by commas")
    writes = command("enumerate", enumerate_writes)
    writes.add_argument("--workload", default="", help="separated by commas; all by default")
    writes.add_argument("--write", type=int, default=0, help="only this write")
    writes.add_argument("--kind", default="", choices=["", *KINDS, "late-renewal"])
    return made


if __name__ == "__main__":
    arguments = parser().parse_args()
    sys.exit(arguments.call(arguments))
