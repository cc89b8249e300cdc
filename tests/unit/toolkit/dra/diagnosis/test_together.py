"""Requests that want the same devices, and pods that fit only after several changes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.dra import Desk
from tests.support.worlds.inventory import claim, device, device_class, held, pod, pool
from tests.unit.toolkit.dra.diagnosis.test_explain import MODEL, REFUSED, TAINT, model, nodes

Json = dict[str, Any]


def waiting(*names: str) -> Json:
    """Return a pod with a claim for each name that the scheduler has refused."""
    made = pod(claims={name: name for name in names})
    made["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    return made


def using(node: str, name: str, *devices: str) -> list[Json]:
    """Return a pod and the claim with which it has devices of a node."""
    user = pod(name, claims={"gpu": name}, node=node)
    return [user, held(claim(name), *((node, one) for one in devices), pods=[user])]


def explained(desk: Desk) -> str:
    return desk.run("explain", "pod", "pod", "-n", "ns", status=1)


def test_two_claims_that_want_the_same_devices_are_summed(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a", "b", "c"]),
        *using("n", "first", "a"),
        *using("n", "second", "b"),
        claim("left"),
        claim("right"),
        waiting("left", "right"),
    )
    printed = explained(desk)
    assert "claims left and right need 2 devices, 1 is free; in use: " in printed
    assert "1 free, 1 wanted" not in printed
    assert printed.count("in use") == 1
    assert "Nearest: n, one device short. It fits:" in printed
    (group,) = desk.document("explain", "pod", "pod", "-n", "ns", status=1)["groups"]
    assert group["codes"] == ["NoCombination", "DeviceInUse"]


def test_requests_of_one_claim_are_summed_too(tmp_path: Path) -> None:
    both = claim()
    (request,) = both["spec"]["devices"]["requests"]
    both["spec"]["devices"]["requests"] = [{**request, "name": name} for name in ("x", "y")]
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), both, waiting("claim"))
    assert "requests x and y need 2 devices, 1 is free" in explained(desk)


def test_requests_of_some_and_of_all_devices_are_summed(tmp_path: Path) -> None:
    """One request takes any device, the other one only the device that the first needs as well."""
    picky = claim("picky", selectors=[{"cel": {"expression": MODEL}}])
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", [model("a"), model("b", "b")]),
        claim("any", count=2),
        picky,
        waiting("any", "picky"),
    )
    assert "claims any and picky need 3 devices, 2 are free" in explained(desk)


def test_a_pod_that_fits_after_two_pods_end_is_told_so(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("m", "n"),
        device_class(),
        pool("m", ["a"]),
        pool("n", ["a", "b", "c", "d"]),
        *using("m", "other", "a"),
        *using("n", "large", "a", "b"),
        *using("n", "small", "c", "d"),
        claim("left", count=2),
        claim("right"),
        waiting("left", "right"),
    )
    printed = explained(desk)
    assert "It needs 3 more free devices on one node:\n* n frees 4 when ns/" in printed
    assert "ns/large and ns/small end" in printed
    (found,) = desk.document("explain", "pod", "pod", "-n", "ns", status=1)["suggestions"]
    assert (found["kind"], found["node"], found["frees"]) == ("SeveralChanges", "n", 4)
    assert [one["holders"] for one in found["changes"]] == [["ns/large"], ["ns/small"]]


def test_only_the_changes_that_the_pod_needs_are_named(tmp_path: Path) -> None:
    users = [using("n", f"user-{name}", name) for name in "abcd"]
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", list("abcd")),
        *(one for made in users for one in made),
        claim(count=2),
        waiting("claim"),
    )
    assert "* n frees 2 when ns/user-a and ns/user-b end\n" in explained(desk)


def test_a_pod_that_ends_and_a_toleration_are_found_together(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", [device("a", taints=[TAINT]), "b"]),
        *using("n", "user", "b"),
        claim(count=2),
        waiting("claim"),
    )
    wanted = "* n frees 1 when ns/user ends and with a toleration for broken (NoSchedule)\n"
    assert wanted in explained(desk)


@pytest.mark.parametrize("count", [3, 8])
def test_a_pod_that_no_node_can_serve_gets_no_advice(tmp_path: Path, count: int) -> None:
    holders = (*using("n", "one", "a"), *using("n", "two", "b"))
    world = (*nodes("n"), device_class(), pool("n", ["a", "b"]), *holders)
    desk = Desk(tmp_path, *world, claim(count=count), waiting("claim"))
    printed = explained(desk)
    assert "ends" not in printed
    assert " end\n" not in printed


def test_requests_of_devices_that_can_be_shared_are_not_summed(tmp_path: Path) -> None:
    """Each of the two could have a part of the device; what is lacking is its memory."""
    capacity = {"memory": {"value": "2Gi", "requestPolicy": {"default": "2Gi"}}}
    shared = device("a", allowMultipleAllocations=True, capacity=capacity)
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", [shared]),
        claim("left"),
        claim("right"),
        waiting("left", "right"),
    )
    assert "no combination serves all requests" in explained(desk)


def test_simulate_names_the_claims_that_want_the_same_devices(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    planned = [pod(claims={"left": "left", "right": "right"}), claim("left"), claim("right")]
    file.write_text(yaml.safe_dump_all(planned), encoding="utf-8")
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]))
    printed = desk.run("simulate", "-f", file, "-n", "ns", status=1)
    assert printed.startswith(
        "1 pod not placed: can never fit: claims left and right want 2 devices on one node"
    )
    assert "claims left and right need 2 devices, 1 is free" in printed
    assert "1 free, 1 wanted" not in printed
