"""`make soak MINUTES=n`: random faults under workload, in rounds, with a seed to repeat them.

python -m tests.e2e.faults.soak MINUTES [SEED]
"""

import random
import sys
import time
from collections.abc import Callable, Mapping

from tests.e2e.faults.proxy import Call, Loss, Rule
from tests.e2e.faults.setup import ALONE, FaultSetup
from tests.e2e.faults.streams import Ending
from tests.support.controlplane.plane import API_SERVER, ETCD, ControlPlane

Fault = Callable[[FaultSetup], None]
FAULTS_A_ROUND = 5


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


def play(plane: ControlPlane, seed: int) -> str:
    """Play one round; returns what happened in it."""
    chance = random.Random(seed)
    faults = chance.choices([*FAULTS], [*FAULTS.values()], k=FAULTS_A_ROUND)
    story = ", ".join(fault.__name__.replace("_", " ") for fault in faults)
    print(f"seed {seed}: {story}", flush=True)
    with FaultSetup(plane, seed, ALONE) as setup:
        for fault in faults:
            setup.workload.lasts(chance.randint(5, 50))
            setup.look()
            fault(setup)
        setup.calm()
    return story


def main(minutes: float, seed: int) -> int:
    """Play rounds until the time is over; returns the exit status."""
    ends = time.monotonic() + minutes * 60
    rounds = 0
    print(f"first seed {seed}; each round's seed is one more", flush=True)
    with ControlPlane(scheduler=True, garbage_collector=True) as plane:
        while time.monotonic() < ends or not rounds:
            play(plane, seed + rounds)
            rounds += 1
    print(f"{rounds} rounds, all as they must be")
    return 0


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1_000_000)
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10, first))
