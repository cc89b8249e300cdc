"""`make bench`: measure the claim controllers side by side."""

import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from tests.bench.claims import competitors, creation, raw
from tests.bench.claims.record import PATH, Record, Result
from tests.bench.claims.scenarios import SCENARIOS
from tests.bench.claims.table import faults, number, table
from tests.bench.claims.trial import Scenario, Trial
from tests.support.controlplane import binaries

CONCURRENCIES = (8, 16, 32, 64)
TUNED_ON = 1 / 3
"""Share of the catch-up's pods on which the raw client looks for its best concurrency."""
KEYS = [competitor.key for competitor in competitors.ALL]


@click.command(
    epilog="""\b
Examples:
  # everything, about 20 minutes on two idle cores; then renew README and chart
  make bench
  python -m tests.bench.claims.report
  # a quick look at two scenarios with a tenth of the objects
  python -m tests.bench.claims --scenario catch-up --scenario finished --scale 0.1
  # measure one row again after a change, and keep the others
  python -m tests.bench.claims --scenario reaction --update
  # only dragoman, five times
  python -m tests.bench.claims --scenario reaction --competitor dragoman --runs 5
"""
)
@click.option("--scenario", "scenarios", multiple=True, type=click.Choice(list(SCENARIOS)))
@click.option("--competitor", "chosen", multiple=True, type=click.Choice(KEYS))
@click.option(
    "--scale",
    type=click.FloatRange(0.001, 2),
    default=1.0,
    show_default=True,
    help="Factor to all numbers of objects.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="How often each is measured; medians are shown.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    help="Of the raw client; by default the best of 8, 16, 32 and 64 is looked for first.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where results go; by default {PATH.relative_to(PATH.parents[2])} for a whole run of "
    "full scale, nowhere for others.",
)
@click.option(
    "--update",
    is_flag=True,
    help="Measure only these scenarios and competitors anew and keep the other results.",
)
def main(
    *,
    scenarios: tuple[str, ...],
    chosen: tuple[str, ...],
    scale: float,
    runs: int,
    concurrency: int | None,
    path: Path | None,
    update: bool,
) -> None:
    """Measure claim controllers side by side, each alone on a fresh control plane.

    Bars are printed beside the ratios; a missed bar is no failure, a wrong number of claims is.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that control planes are removed
    whole = not scenarios and not chosen and scale == 1.0
    path = path or (PATH if whole or update else None)
    record = Record(kubernetes=binaries.chosen_version(), scale=scale)
    if update and path:
        record = Record.read(path)
        record.drop(scenarios or list(SCENARIOS), chosen or KEYS)
    plan = [SCENARIOS[key] for key in scenarios or SCENARIOS]
    raw_takes_part = any(competitors.RAW in scenario.competitors for scenario in plan)
    wanted = raw_takes_part and "raw" in (chosen or KEYS)
    if not record.concurrency:
        record.concurrency = concurrency or (tune(record) if wanted else raw.CONCURRENCY)
    try:
        for run in range(1, runs + 1):
            for scenario in plan:
                say(f"{scenario.key}: {scenario.title}" + (f", run {run}" if runs > 1 else ""))
                measure(record, scenario, chosen or KEYS)
                if path:
                    record.save(path)
    finally:
        say("", table(record), *faults(record))
    sys.exit(1 if faults(record) else 0)


def measure(record: Record, scenario: Scenario, chosen: Iterable[str]) -> None:
    """Let all who take part do a scenario once."""
    for competitor in scenario.competitors:
        if competitor.key in chosen:
            trial = Trial(competitor, record.scale, record.concurrency)
            result = attempt(scenario, trial)
            record.results.append(result)
            shown = (f"{name} {number(value)}" for name, value in result.values.items())
            say(f"  {competitor.title}: {result.fault or ', '.join(shown)}")


def attempt(scenario: Scenario, trial: Trial) -> Result:
    """Do a scenario; what goes wrong becomes part of the result, and the others go on."""
    before, values, fault = os.getloadavg()[0], {}, ""
    began = time.monotonic()
    try:
        values = dict(scenario.run(trial))
    except Exception as error:  # noqa: BLE001 — one competitor's failure is a result
        fault = f"{type(error).__name__}: {error}"
    say(f"    {time.monotonic() - began:.0f} s")
    load = (round(before, 2), round(os.getloadavg()[0], 2))
    return Result(scenario.key, trial.competitor.key, values, load, fault)


def tune(record: Record) -> int:
    """Find the concurrency at which the raw client is fastest."""
    say("raw client: looking for its best concurrency")
    for concurrency in CONCURRENCIES:
        trial = Trial(competitors.RAW, record.scale * TUNED_ON, concurrency)
        rate = creation.catch_up(trial)["claims_per_s"]
        record.tuning[str(concurrency)] = rate
        say(f"  {concurrency} at once: {number(rate, 'claims/s')}")
    return int(max(record.tuning, key=record.tuning.__getitem__))


def say(*lines: str) -> None:
    """Print progress at once, also into a pipe."""
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
