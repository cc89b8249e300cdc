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
    assert "no device, claim or pod nothing (in namespace default)" in result.stderr
