"""Plans of moves are the shortest that brute force finds, and say what they rest on."""

import random
from collections import Counter
from itertools import combinations, permutations, product
from typing import Any

import pytest

from dragoman.allocation import profile
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.preemption.policy import PreemptionCode
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman_toolkit.defrag.defrag import DefragOutcome, Moves, plan
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds.inventory import CLASS, claim, device_class, held, pool, snapshot
from tests.support.worlds.preemption import budget, node, running, waiting
from tests.unit import examples

WORLDS = examples.examples(20)
OWNER = ("ReplicaSet", "batch")


def template(count: int) -> Json:
    made = objects.template(f"t{count}", "ns", CLASS, count)
    made["spec"]["spec"] = claim(count=count)["spec"]
    return made


def user(name: str, on: str, devices: range, priority: int = 0, **more: Any) -> list[Json]:
    """Make a pod with a generated claim that its controller would create again."""
    entry = {"name": "gpu", "resourceClaimTemplateName": f"t{len(devices)}"}
    made = running(name, on, priority, **{"owner": OWNER, "resourceClaims": [entry], **more})
    made["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
    names = [(on, f"device-{index}") for index in devices]
    return [made, held(claim(f"{name}-gpu", count=len(devices)), *names, pods=[made])]


def moves(*given: Json, copies: int = 1) -> Moves:
    world = parse(snapshot(device_class(), *map(template, range(1, 9)), *given))
    cluster = cluster_of(take(world, profile("1.36")))
    before = {key: one for key, one in cluster.claims.items() if one.held}
    subject = of_pod(world, world.pods["ns/train"])
    made = plan(PreemptionFacts.of(world), [subject] * copies, cluster)
    assert {key: one for key, one in cluster.claims.items() if one.held} == before
    return made


def told(made: Moves) -> list[tuple[str, str]]:
    return [(one.moved.pod.name, one.placed.node) for one in made.moves]


def test_the_smallest_pod_moves_where_there_is_room() -> None:
    made = moves(
        node("a"),
        pool("a", 8),
        *user("big", "a", range(4)),
        *user("small", "a", range(4, 6)),
        node("b"),
        pool("b", 3),
        *waiting(4),
    )
    assert made.outcome is DefragOutcome.PLANNED
    assert told(made) == [("small", "b")]
    assert made.complete
    assert (made.targets[0].node, len(made.targets[0].devices)) == ("a", 4)


def test_nothing_moves_where_the_pod_fits() -> None:
    made = moves(node("a"), pool("a", 4), *user("x", "a", range(1)), *waiting(3))
    assert (made.outcome, made.moves) == (DefragOutcome.FITS, ())


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"owner": None}, PreemptionCode.BARE),
        ({"owner": ("DaemonSet", "agent")}, PreemptionCode.DAEMON),
        ({"priority": 200}, PreemptionCode.HIGHER),
        ({"annotations": {"dragoman.dev/preemptible": "false"}}, PreemptionCode.ANNOTATION),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, PreemptionCode.NOT_COMPUTED),
        ({"labels": {"app": "kept"}}, PreemptionCode.BUDGETS),
    ],
)
def test_pods_that_nothing_brings_back_stay(more: dict[str, Any], code: PreemptionCode) -> None:
    made = moves(
        *(node("a"), pool("a", 2), *user("x", "a", range(1), **more)),
        *(node("b"), pool("b", 1), *waiting(2)),
        budget("kept", {"app": "kept"}, 0),
    )
    assert made.outcome is DefragOutcome.NONE
    assert [one.code for one in made.reasons["a"]] == [code]


def test_pods_of_the_same_priority_move_for_each_other() -> None:
    made = moves(
        *(node("a"), pool("a", 2), *user("x", "a", range(1), 100)),
        *(node("b"), pool("b", 1), *waiting(2)),
    )
    assert told(made) == [("x", "b")]


def test_room_for_several_pods_is_made_one_after_the_other() -> None:
    made = moves(
        *(node("a"), pool("a", 4), *user("x", "a", range(1))),
        *(node("b"), pool("b", 4), *user("y", "b", range(1))),
        *(node("c"), pool("c", 2), *waiting(4)),
        copies=2,
    )
    assert (made.outcome, told(made)) == (DefragOutcome.PLANNED, [("x", "c"), ("y", "c")]), made
    assert [one.node for one in made.targets] == ["a", "b"]
    assert not made.complete


def brute(rooms: dict[str, int], pods: list[tuple[str, str, int]], need: int) -> int | None:
    """Return the fewest moves, by trying all sets, orders and places."""
    free = {name: room - sum(n for _, on, n in pods if on == name) for name, room in rooms.items()}
    for size in range(len(pods) + 1):
        for chosen in combinations(pods, size):
            for target in rooms:
                came = sum(n for _, on, n in chosen if on == target)
                if any(on != target for _, on, _ in chosen) or free[target] + came < need:
                    continue
                if _places(rooms, free, target, chosen):
                    return size
    return None


def _places(
    rooms: dict[str, int], free: dict[str, int], target: str, chosen: tuple[Any, ...]
) -> bool:
    others = [name for name in rooms if name != target]
    for order in permutations(chosen):
        for places in product(others, repeat=len(order)):
            left = dict(free)
            for (_, _, units), place in zip(order, places, strict=True):
                left[place] -= units
            if all(left[name] >= 0 for name in others):
                return True
    return False


def test_plans_have_as_few_moves_as_brute_force_finds() -> None:
    rng = random.Random(5)
    sizes = []
    for _ in range(WORLDS):
        rooms = {f"n{index}": rng.randint(2, 6) for index in range(rng.randint(2, 4))}
        pods: list[tuple[str, str, int]] = []
        given: list[Json] = []
        for name, room in rooms.items():
            given += [node(name), pool(name, room)]
            taken = 0
            used = rng.randint(1, room)
            while taken < used and len(pods) < 8:
                units = rng.randint(1, min(3, room - taken))
                pod = f"p{len(pods)}"
                given += user(pod, name, range(taken, taken + units))
                pods.append((pod, name, units))
                taken += units
        free = [
            room - sum(units for _, on, units in pods if on == name) for name, room in rooms.items()
        ]
        # Mostly more than any node has free, and no more than all have together.
        need = max(free) + rng.choice((0, 1, 1, 1, 2, 2))
        wanted = brute(rooms, pods, need)
        made = moves(*given, *waiting(need))
        assert made.complete
        got = None if made.outcome is DefragOutcome.NONE else len(made.moves)
        assert got == wanted, (rooms, pods, need)
        sizes.append(wanted)
    assert sum(bool(one) for one in sizes) > WORLDS / 4
    print(f"{WORLDS} worlds, seed 5: {dict(Counter(sizes))} by the moves that are needed")
