"""`who`: from a device to the container, and back."""

from pathlib import Path

import pytest

from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import DRIVER, claim, device, held, pod, pool


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    users = [
        pod(f"trainer-{index}", "ml", claims={"gpu": "shared"}, node="n") for index in range(2)
    ]
    free = device("b", attributes={"uuid": {"string": "GPU-7"}})
    return Desk(
        tmp_path,
        pool("n", ["a", free]),
        held(claim("shared", "ml"), ("n", "a"), pods=users),
        claim("waits", "ml"),
        *users,
    )


def rows(printed: str) -> list[list[str]]:
    """Return the columns of a table's lines, without its header."""
    return [line.split("   ") for line in printed.splitlines()[1:]]


@pytest.mark.parametrize(
    "target", [f"{DRIVER}/n/a", f"device/{DRIVER}/n/a", "claim/ml/shared", "ml/shared"]
)
def test_each_pod_has_a_line(desk: Desk, target: str) -> None:
    found = desk.document("who", target)["devices"]
    assert [(one["claim"], one["pod"], one["containers"]) for one in found] == [
        ("ml/shared", "ml/trainer-0", ["main"]),
        ("ml/shared", "ml/trainer-1", ["main"]),
    ]


def test_a_pod_sees_its_own_line(desk: Desk) -> None:
    (found,) = desk.document("who", "trainer-1", "-n", "ml")["devices"]
    assert found["pod"] == "ml/trainer-1"


def test_a_pool_has_all_its_devices(desk: Desk) -> None:
    printed = desk.run("who", f"{DRIVER}/n")
    assert [row[0] for row in rows(printed)] == [
        f"{DRIVER}/n/a",
        f"{DRIVER}/n/a",
        f"{DRIVER}/n/b",
    ]
    assert printed.splitlines()[-1].endswith("free, uuid GPU-7")


def test_a_claim_without_devices_leads_to_explain(desk: Desk) -> None:
    result = invoke("who", "waits", "-n", "ml", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "claim ml/waits has no devices: `kubectl dra explain claim`" in result.stderr


def test_a_name_of_nothing(desk: Desk) -> None:
    result = invoke("who", "nothing", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "no device, claim, pod or node nothing (in namespace default)" in result.stderr


@pytest.mark.parametrize(
    ("attribute", "published", "typed"),
    [
        ("uuid", "MIG-58fecf9e-c243", "mig-58FECF9E-c243"),
        ("resource.kubernetes.io/pciBusID", "0000:0a:00.0", "00000000:0A:00.0"),
        ("pciAddress", "0000:3b:00.1", "3b:00.1"),
        ("serialNumber", "1654922006536", "1654922006536"),
        ("mac", "0c:42:a1:5e:00:01", "0C:42:A1:5E:00:01"),
    ],
)
def test_a_device_is_found_by_what_monitoring_prints(
    tmp_path: Path, attribute: str, published: str, typed: str
) -> None:
    known = device("b", attributes={attribute: {"string": published}})
    other = device("a", attributes={"model": {"string": typed}})
    desk = Desk(tmp_path, pool("n", [other, known]))
    (found,) = desk.document("who", typed)["devices"]
    assert found["device"] == "b"
    assert desk.document("explain", "device", typed)["device"] == f"{DRIVER}/n/b"
    assert desk.document("explain", typed)["device"] == f"{DRIVER}/n/b"


def test_an_address_that_two_nodes_have(tmp_path: Path) -> None:
    same = device("a", attributes={"pciAddress": {"string": "0000:01:00.0"}})
    desk = Desk(tmp_path, pool("n", [same]), pool("m", [same]))
    assert len(desk.document("who", "01:00.0")["devices"]) == 2
    result = invoke("explain", "device", "01:00.0", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert f"is one of {DRIVER}/m/a, {DRIVER}/n/a: name one of them" in result.stderr


def test_the_devices_of_a_node_and_of_a_workload(desk: Desk) -> None:
    assert len(desk.document("who", "n")["devices"]) == 3
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": "u",
        "controller": True,
    }
    user = pod("train-x", "ml", claims={"gpu": "own"}, node="n")
    user["metadata"]["ownerReferences"] = [owner]
    has = held(claim("own", "ml"), ("n", "a"), pods=[user])
    job = Desk(desk.folder, pool("n", ["a", "b"]), user, has)
    (found,) = job.document("who", "job/train", "-n", "ml")["devices"]
    assert (found["device"], found["pod"]) == ("a", "ml/train-x")
