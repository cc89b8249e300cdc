"""Explanations take bounded time, are not repeated in vain, and keep no process from ending."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dragoman import surroundings
from dragoman.allocation import StoppedError, profile
from dragoman.controllers.explain import engine as engines
from dragoman.controllers.explain.engine import Engine
from dragoman.diagnosis.explain import examine
from dragoman.diagnosis.note import Note
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import World
from dragoman.surroundings import Worker
from tests.support import manifests as objects
from tests.support.hostile import Tries, scaled
from tests.support.worlds.expressions import RUNAWAYS, UNDERCHARGED
from tests.support.worlds.inventory import (
    DRIVER,
    claim,
    device,
    device_class,
    held,
    pod,
    pool,
    snapshot,
)

pytestmark = pytest.mark.hostile("explain")

TEN = str([*range(10)])
LOOPS = (
    f'device.attributes["{DRIVER}"].id == "none" || '
    f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, a + b + c + d >= 0)))) == false"
)
"""10,000 loops: about 20 ms for a device."""


def world(*names: str, devices: int = 100, **claims: str) -> World:
    """Return unlike devices, and a pod for each claim with its selector."""
    unlike = [device(f"d{n}", attributes={"id": {"string": str(n)}}) for n in range(devices)]
    pools = [pool(name, unlike) for name in names or ("n",)]
    waiting = []
    for name, expression in claims.items():
        made = pod(name, claims={"gpu": name})
        made["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled"}]}
        selectors = [{"cel": {"expression": expression}}]
        waiting += [claim(name, selectors=selectors), made]
    nodes = [objects.node(name) for name in names or ("n",)]
    return parse(snapshot(device_class(), *nodes, *pools, *waiting))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Return an engine with little time that shares no explanation for its age."""
    monkeypatch.setattr(engines, "SECONDS", 0.2)
    monkeypatch.setattr(engines, "EACH", 0.0)
    made = Engine(profile("1.36"), fresh=0)
    yield made
    made.stop()


def said(engine: Engine, facts: World, name: str) -> Note:
    """Explain a pod."""
    return asyncio.run(engine.explain(facts, facts.pods[f"ns/{name}"]))


def test_a_costly_selector_is_said_to_be_one(engine: Engine) -> None:
    found = said(engine, world(a=LOOPS), "a")
    assert found.reason == "TooExpensive"
    assert found.text.startswith("too expensive to explain")


def test_a_costly_spec_is_not_computed_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []

    def counted(*arguments: object, **more: object) -> object:
        computed.append(arguments[1].pod.pod.metadata.name)  # type: ignore[attr-defined]
        return examine(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engines, "examine", counted)
    facts = world(a=LOOPS, b=LOOPS)
    reasons = [said(engine, facts, name).reason for name in ("a", "b", "a")]
    assert reasons == ["TooExpensive"] * 3
    assert computed == ["a"]
    # Other devices are another question.
    assert said(engine, world("n", "m", a="true"), "a").reason == "DevicesAvailable"
    said(engine, world(a=LOOPS), "a")
    assert computed == ["a", "a", "a"]


def test_a_pod_with_a_claim_that_is_allocated_elsewhere_is_another_question(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SECONDS", 0.0)
    pods, claims = [], []
    for name, node in (("a", "n"), ("b", "m")):
        made = pod(name, claims={"has": f"{name}-has", "gpu": f"{name}-wants"})
        made["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled"}]}
        pods.append(made)
        there = held(claim(f"{name}-has"), (node, f"d-{name}"))
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
        there["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": terms}
        claims += [there, claim(f"{name}-wants")]
    nodes = [objects.node(name) for name in ("n", "m")]
    pools = [pool(name, [device("x")]) for name in ("n", "m")]
    facts = parse(snapshot(device_class(), *nodes, *pools, *claims, *pods))
    assert said(engine, facts, "a").reason == "TooExpensive"
    monkeypatch.setattr(engines, "SECONDS", 60.0)
    assert said(engine, facts, "a").reason == "TooExpensive"
    assert said(engine, facts, "b").reason == "DevicesAvailable"


def test_cheap_selectors_are_explained_beside_costly_ones(engine: Engine) -> None:
    facts = world(a=LOOPS, b=f'device.attributes["{DRIVER}"].id == "none"')
    assert said(engine, facts, "a").reason == "TooExpensive"
    assert said(engine, facts, "b").reason == "NeverFits"


def test_every_expression_that_runs_away_is_answered(engine: Engine, tries: Tries) -> None:
    """By the limits of the scheduler, which stops at the pod, or because the time is up."""
    every = [*RUNAWAYS.values(), *UNDERCHARGED.values()]
    chosen = every[:: max(1, len(every) // scaled(len(every)))]
    facts = world(devices=2, **{f"p{number}": text for number, text in enumerate(chosen)})
    for number, text in enumerate(chosen):
        found = said(engine, facts, f"p{number}")
        assert found.reason in {"TooExpensive", "CELError"}, text
        assert found.text
    tries(len(chosen))


def test_an_explanation_ends_with_the_operator(engine: Engine) -> None:
    async def ended() -> None:
        facts = world(a=LOOPS)
        begun = asyncio.create_task(engine.explain(facts, facts.pods["ns/a"]))
        await asyncio.sleep(0.01)
        engine.stop()
        await begun

    with pytest.raises((asyncio.CancelledError, StoppedError)):
        asyncio.run(ended())


@pytest.mark.parametrize(
    "begin", ["Worker('w').submit(compute)", "asyncio.run(begin())"], ids=["worker", "thread"]
)
def test_a_process_ends_while_a_thread_computes(begin: str) -> None:
    code = (
        "import asyncio\n"
        "import threading\n"
        "from dragoman.surroundings import Worker, in_daemon_thread\n"
        "begun = threading.Event()\n"
        "def compute():\n"
        "    begun.set()\n"
        "    while True: pass\n"
        "async def begin():\n"
        "    computing = asyncio.create_task(in_daemon_thread(compute))\n"
        "    while not begun.is_set(): await asyncio.sleep(0.01)\n"
        "    computing.cancel()\n"
        f"{begin}\n"
        "assert begun.wait(60)\n"
        "print('ended', flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=120, check=True, capture_output=True, text=True
    )
    assert done.stdout == "ended\n"


def test_a_worker_goes_on_after_an_error() -> None:
    worker = Worker("w")
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 / 0).result(60)
    assert worker.submit(lambda: 1 + 1).result(60) == 2


def test_the_duration_of_a_count_is_its_cpu_time_and_not_its_turn(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([10.0, 12.5])
    facts = world(devices=2)

    monkeypatch.setattr(surroundings, "cpu", lambda: next(times))
    assert asyncio.run(engine.count(facts)).devices
    assert engine.count_seconds == 2.5


def test_a_stopped_operator_does_not_wait_for_a_rest(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest after a long computation belongs to the event loop of an operator that goes on."""
    monkeypatch.setattr(engines, "SHARE", 1e-9)

    async def cancelled() -> None:
        facts = world(a=LOOPS)
        begun = asyncio.create_task(engine.explain(facts, facts.pods["ns/a"]))
        await asyncio.sleep(0.01)
        begun.cancel()
        done, _ = await asyncio.wait({begun}, timeout=60)
        assert done

    asyncio.run(cancelled())


def test_what_was_too_expensive_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first explanation of a slow machine fills what later ones remember."""
    monkeypatch.setattr(engines, "EACH", 0.0)
    monkeypatch.setattr(engines, "SECONDS", 0.0)
    now = [0.0]
    engine = Engine(profile("1.36"), fresh=0, clock=lambda: now[0])
    facts = world(devices=2, a="true")
    assert said(engine, facts, "a").reason == "TooExpensive"
    monkeypatch.setattr(engines, "SECONDS", 60.0)
    now[0] = engines.AGAIN - 1
    assert said(engine, facts, "a").reason == "TooExpensive"
    now[0] = engines.AGAIN
    assert said(engine, facts, "a").reason == "DevicesAvailable"
