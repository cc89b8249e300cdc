"""`make soak MINUTES=n`: random faults under workload, in rounds, with a seed to repeat them.

Every controller of the operator is on, and its outcomes are checked.

python -m tests.e2e.faults.soak MINUTES [SEED]
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping

from tests.e2e.faults.everything import FLAGS, GATES, RULES, SERVED, Everything, define
from tests.e2e.faults.proxy import Call, Loss, Rule
from tests.e2e.faults.setup import ALONE, FaultSetup
from tests.e2e.faults.streams import Ending
from tests.support.controlplane.plane import API_SERVER, ETCD, ControlPlane

Fault = Callable[[FaultSetup], None]
FAULTS_A_ROUND = 5
GRACE = 30
"""Seconds that a deleted pod has: the API server deletes it only after a kubelet has."""
SETTLED_SECONDS = 60
"""Seconds after the last fault in which all must be as it must be."""


def breaks_watches(setup: FaultSetup) -> None:
    """End all watches in some way; silence takes too long to be noticed here."""
    setup.proxy.end_watches(setup.chance.choice([*set(Ending) - {Ending.STALL}]))


def refuses_writes(setup: FaultSetup) -> None:
    """Refuse a share of the writes."""
    code, reason = setup.chance.choice(
        [(409, "Conflict"), (404, "NotFound"), (429, "TooManyRequests"), (500, "InternalError")]
    )
    _for_a_while(setup, _writes(setup, code=code, reason=reason))


def loses_writes(setup: FaultSetup) -> None:
    """Break connections before or after the server has done a share of the writes."""
    _for_a_while(setup, _writes(setup, loss=setup.chance.choice([*Loss])))


def refuses_everything(setup: FaultSetup) -> None:
    """Answer nothing but 503, or 429 with Retry-After."""
    code, wait = setup.chance.choice([(503, None), (429, 1)])
    _for_a_while(setup, Rule(code=code, reason="ServiceUnavailable", retry_after=wait))


def slows_down(setup: FaultSetup) -> None:
    """Let everything take longer, by up to two seconds."""
    delay = setup.chance.uniform(0.05, 2.0)
    _for_a_while(setup, Rule(delay=delay, lag=delay))


def kills_operator(setup: FaultSetup) -> None:
    """Kill the operator and start it again."""
    setup.operator.kill()
    setup.operator.launch()


def kills_api_server(setup: FaultSetup) -> None:
    """Kill the API server and start it again."""
    setup.plane.restart(API_SERVER)


def kills_etcd(setup: FaultSetup) -> None:
    """Kill etcd, start it again, and let it forget old revisions."""
    setup.plane.restart(ETCD)
    setup.compact()
    setup.plane.restart(API_SERVER)


FAULTS: Mapping[Fault, float] = {
    breaks_watches: 4,
    refuses_writes: 4,
    loses_writes: 4,
    refuses_everything: 2,
    slows_down: 2,
    kills_operator: 3,
    kills_api_server: 1,
    kills_etcd: 1,
}
"""How often each happens, in relation to the others."""


def _writes(setup: FaultSetup, **fault: object) -> Rule:
    def applies(call: Call) -> bool:
        return call.writes

    share = setup.chance.uniform(0.1, 0.6)
    return Rule(applies, share=share, **fault)  # type: ignore[arg-type]  # names as in Rule


def _for_a_while(setup: FaultSetup, rule: Rule) -> None:
    setup.proxy.add(rule)
    setup.workload.lasts(setup.chance.randint(10, 60))
    setup.proxy.heal()


def play(plane: ControlPlane, seed: int, totals: Counter[str]) -> float:
    """Play one round; return the seconds after the last fault until all was as it must be."""
    chance = random.Random(seed)
    faults = chance.choices([*FAULTS], [*FAULTS.values()], k=FAULTS_A_ROUND)
    story = ", ".join(fault.__name__.replace("_", " ") for fault in faults)
    print(f"seed {seed}: {story}", flush=True)
    with FaultSetup(plane, seed, ALONE, *FLAGS, rules=RULES, grace=GRACE) as setup:
        everything = Everything(setup)
        try:
            everything.prepare()
            setup.checks.append(everything.differences)
            for fault in faults:
                for _ in range(chance.randint(1, 4)):
                    setup.workload.lasts(chance.randint(3, 15))
                    everything.step()
                setup.look()
                everything.evict()
                fault(setup)
            everything.calm()
            took = setup.calm()
            waited = setup.operator.waited_for_processor()
        finally:
            everything.end()
        totals.update(everything.done)
        totals.update(rounds=1, faults=len(faults), pods=setup.workload.made)
        totals["left to kubelets"] += everything.terminating
        print(f"  settled after {took:.1f} s; {dict(everything.done)}", flush=True)
        print(f"  operator waited {waited:.1f} s for a processor since its last start", flush=True)
        print(f"  last: {'; '.join(setup.last)}", flush=True)
    return took


def main(minutes: float, seed: int) -> int:
    """Play rounds until the time is over; returns the exit status."""
    ends = time.monotonic() + minutes * 60
    totals: Counter[str] = Counter()
    settled: list[float] = []
    print(f"first seed {seed}; each round's seed is one more", flush=True)
    with ControlPlane(
        scheduler=True, garbage_collector=True, feature_gates=GATES, runtime_config=SERVED
    ) as plane:
        define(plane)
        while time.monotonic() < ends or not settled:
            settled.append(play(plane, seed + len(settled), totals))
    print(", ".join(f"{name}: {count}" for name, count in sorted(totals.items())))
    late = sum(took > SETTLED_SECONDS for took in settled)
    print(
        f"{len(settled)} rounds, all as they must be, after {max(settled):.1f} s at most; "
        f"{late} later than {SETTLED_SECONDS} s"
    )
    return 1 if late else 0


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1_000_000)
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10, first))
