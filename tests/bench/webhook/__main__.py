"""`make bench-webhook`: measure the webhook beside a vendor's."""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from tests.bench.webhook import endurance, generator, hostile, verdicts
from tests.bench.webhook.bars import OWN, table
from tests.bench.webhook.generator import Load, Measured, finished, measure, sending
from tests.bench.webhook.record import Record
from tests.bench.webhook.reviews import NUMBER, body, shared
from tests.conformance.peer import isolation
from tests.conformance.peer.competitors import DRAGOMAN, EXAMPLE, Running, running

SIDE_BY_SIDE: Mapping[str, tuple[bytes, int]] = {
    "same-1": (body([shared(2)]), 1),
    "other-1": (body([shared(NUMBER)]), 1),
    "same-32": (body([shared(2)] * 32), 1),
    "same-1-32": (body([shared(2)]), 32),
    "other-1-32": (body([shared(NUMBER)]), 32),
    "same-32-32": (body([shared(2)] * 32), 32),
}
"""Reviews, and how many at once, by scenario."""

PURE_ROUNDS = 5
OTHERS = Load(concurrency=4, seconds=4, warmup=1, pause=5)
"""Ordinary reviews while a dear one is under way."""


@click.command(
    epilog="""\b
Examples:
  # everything but memory, three minutes; then renew docs/comparison.md
  make bench-webhook
  python -m tests.bench.webhook.report
  # a million reviews, some minutes; added to the record
  python -m tests.bench.webhook --memory
"""
)
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--seconds", type=float, default=2.5, show_default=True, help="Of each measurement.")
@click.option("--scenario", "chosen", multiple=True, help="Only these, and keep the other results.")
@click.option("--memory", is_flag=True, help="A million reviews, and keep the other results.")
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Record.PATH,
    show_default="docs/bench/webhook.json",
)
def main(*, rounds: int, seconds: float, chosen: tuple[str, ...], memory: bool, path: Path) -> None:
    """Measure dragoman's webhook beside the example driver's: one process each, TLS, keep-alive.

    Bars are printed beside the ratios; a missed bar is no failure, a wrong answer is.
    """
    if not isolation.is_inside():
        EXAMPLE.program()
        generator.program()
        inside = isolation.command([sys.executable, "-m", "tests.bench.webhook", *sys.argv[1:]])
        os.execv(inside[0], inside)
    again = chosen or (("memory",) if memory else ())
    record = Record.read(path) if again and path.exists() else Record(EXAMPLE.title)
    record.load = round(os.getloadavg()[0], 2)
    for scenario in again:
        record.drop(scenario)
    wanted = again or (*SIDE_BY_SIDE, "pure", "hostile")
    try:
        compare(record, [key for key in SIDE_BY_SIDE if key in wanted], rounds, seconds)
        for key, alone in ALONE.items():
            if key in wanted:
                show(record, key, OWN, alone())
    finally:
        record.save(path)
        print(f"\n{table(record)}", flush=True)


def compare(record: Record, scenarios: list[str], rounds: int, seconds: float) -> None:
    """Measure both webhooks in turn."""
    with ExitStack() as both:
        servers = [both.enter_context(running(one)) for one in (EXAMPLE, DRAGOMAN)]
        for _ in range(rounds if scenarios else 0):
            for key in scenarios:
                review, concurrency = SIDE_BY_SIDE[key]
                for server in servers:
                    measured = measure(server, review, Load(concurrency, seconds, 0.5))
                    show(record, key, server.competitor.key, numbers(measured))


def numbers(measured: Measured) -> dict[str, float]:
    """Return what the record keeps of a measurement."""
    kept = ("per_s", "p50_us", "p99_us", "max_us")
    return {name: value for name, value in asdict(measured).items() if name in kept}


def pure() -> dict[str, float]:
    """Measure verdicts in this process; whatever else runs only adds to them."""
    return {"us": min(next(taken for _, taken in verdicts.ordinary()) for _ in range(PURE_ROUNDS))}


def most_expensive() -> dict[str, float]:
    """Find the most expensive schema, and send its reviews without a pause among ordinary ones."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running(DRAGOMAN, str(hostile.write(folder))))
        worst = max(hostile.cases().items(), key=lambda item: longest(server, *item))
        load = Load(1, OTHERS.seconds + 2, 0, expect='"allowed"')
        with sending(server, worst[1], load) as process:
            others = measure(server, body([shared(NUMBER)]), OTHERS)
            dear = finished(process)
    print(f"  most expensive: {worst[0]}")
    return {
        "worst_ms": dear.max_us / 1000,
        "others_p50_ms": others.p50_us / 1000,
        "others_p99_ms": others.p99_us / 1000,
    }


def longest(server: Running, title: str, review: bytes) -> float:
    """Return the milliseconds of the longest of three reviews."""
    dear = measure(server, review, Load(1, 10, 0, requests=3, expect='"allowed"'))
    print(f"  {title}: {dear.max_us / 1000:.0f} ms", flush=True)
    return dear.max_us


def memory_of() -> dict[str, float]:
    """Measure the memory after a million reviews."""
    with tempfile.TemporaryDirectory() as folder:
        return endurance.run(Path(folder))


ALONE: Mapping[str, Callable[[], dict[str, float]]] = {
    "pure": pure,
    "hostile": most_expensive,
    "memory": memory_of,
}
"""What is measured of dragoman alone, by scenario."""


def show(record: Record, scenario: str, competitor: str, values: dict[str, float]) -> None:
    """Keep and print numbers."""
    record.add(scenario, competitor, values)
    words = ", ".join(f"{name} {value:,.1f}" for name, value in values.items())
    print(f"{scenario}, {competitor}: {words}", flush=True)


if __name__ == "__main__":
    main()
