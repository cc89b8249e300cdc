"""`make bench-scale`: measure the operator in a cluster of 5,000 nodes and 50,000 pods."""

import signal
import sys
import time
from pathlib import Path

import click

from tests.bench.claims.lab import Lab
from tests.bench.scale import measuring
from tests.bench.scale.record import PATH, Record, section
from tests.support.controlplane import binaries


@click.command(
    epilog="""\b
Examples:
  # everything, about 20 minutes on two idle cores; then renew docs/operations.md
  make bench-scale
  make pages
  # a quick look with a twentieth of the objects and one minute of churn
  python -m tests.bench.scale --scale 0.05 --minutes 1
"""
)
@click.option(
    "--scale",
    type=click.FloatRange(0.01, 1),
    default=1.0,
    show_default=True,
    help="Factor to the numbers of objects.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0.1, 60),
    default=10.0,
    show_default=True,
    help="How long claims come and go.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1000),
    default=200,
    show_default=True,
    help="New claims per second.",
)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the record goes; by default docs/bench/scale.json for a whole run, nowhere for "
    "others.",
)
def main(*, scale: float, minutes: float, rate: int, path: Path | None) -> None:
    """Measure memory, CPU and waits of the operator beside many objects."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that control planes are removed
    values = measure(scale, round(60 * minutes), rate)
    record = Record(kubernetes=binaries.chosen_version(), scale=scale, values=values)
    whole = (scale, minutes, rate) == (1.0, 10.0, 200)
    if path or whole:
        record.save(path or PATH)
    print(section(record))
    sys.exit(1 if record.values["left_over"] else 0)


def measure(scale: float, seconds: int, rate: int) -> dict[str, float]:
    """Go through all phases on one control plane."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:4.0f} s] {line}", file=sys.stderr, flush=True)

    with Lab() as lab:
        say("operator without objects")
        values = measuring.empty(lab)
        values |= measuring.fill(lab, scale, say)
        with measuring.operator(lab) as (process, took):
            say(f"operator ready after {took:.1f} s")
            values |= measuring.at_rest(process)
            say(f"{rate} new claims per second for {seconds} s")
            values |= measuring.churning(lab, process, rate, seconds, say)
        say("restarts")
        values |= measuring.restart(lab)
        values |= measuring.explaining(lab)
    return values


if __name__ == "__main__":
    main()
