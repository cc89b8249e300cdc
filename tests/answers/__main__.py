"""Compare answers of `explain` with the evaluator: `python -m tests.answers --seeds 1000`.

With --state, seeds that are done are noted, and a second run goes on after them.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from tests.answers.properties import faults

BAR = 0.995
"""Seeds of which all seven properties have to hold."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--seeds", type=int, default=1000, help="how many")
    options.add_argument("--state", type=Path, help="a file of what is done")
    chosen = options.parse_args()
    done: dict[str, list[str]] = {}
    if chosen.state and chosen.state.exists():
        done = json.loads(chosen.state.read_text())
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    for seed in seeds:
        if str(seed) in done:
            continue
        found = [*faults(seed)]
        done[str(seed)] = found
        for one in found:
            print(f"seed {seed}: {one}", flush=True)
        if chosen.state and seed % 50 == 0:
            chosen.state.write_text(json.dumps(done))
    if chosen.state:
        chosen.state.write_text(json.dumps(done))
    of = {seed: done[str(seed)] for seed in seeds}
    wrong = [seed for seed, found in of.items() if found]
    kinds = Counter(one.partition(":")[0] for found in of.values() for one in {*found})
    right = 1 - len(wrong) / max(len(of), 1)
    print(f"{len(of)} seeds, {len(wrong)} with faults, all seven hold in {right:.2%}")
    print("faults by property:", dict(sorted(kinds.items())))
    return 0 if right >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
