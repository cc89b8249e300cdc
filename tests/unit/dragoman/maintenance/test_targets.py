"""Which devices a command line means."""

import pytest

from dragoman.inventory.inventory import Inventory
from dragoman.maintenance.targets import Target, TargetError, near, parse, select, targets
from tests.support.worlds.inventory import DRIVER, device, inventory, pool

UUID = 'device.attributes["gpu.example.com"].uuid == "{}"'


@pytest.fixture
def devices() -> Inventory:
    spare = device("b", attributes={"uuid": {"string": "GPU-b"}})
    return inventory(
        pool("n1", [device("a", attributes={"uuid": {"string": "GPU-a"}}), spare]),
        pool("n2", ["c"]),
        pool("rack/1", ["d"], name="rack/1"),
    )


def names(found: Inventory, *words: str, **more: str) -> list[str]:
    return [one.device for one in select(found, targets(words, found, **more)).ids]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{DRIVER}/n1/a", Target(DRIVER, "n1", "a")),
        (f"{DRIVER}/n1", Target(DRIVER, "n1")),
        (f"{DRIVER}/rack/1", Target(DRIVER, "rack/1")),
        (f"{DRIVER}/rack/1/d", Target(DRIVER, "rack/1", "d")),
        (f"{DRIVER}/gone/x", Target(DRIVER, "gone", "x")),
    ],
)
def test_names(devices: Inventory, text: str, meant: Target) -> None:
    assert parse(text, devices) == meant


@pytest.mark.parametrize("text", ["gpu-3", "", "/", "a/", "a//b"])
def test_what_is_no_name_says_what_is(devices: Inventory, text: str) -> None:
    with pytest.raises(TargetError, match="expected driver/pool/device, driver/pool or node/NAME"):
        parse(text, devices)


def test_the_bare_name_of_a_node_is_told_from_other_words(devices: Inventory) -> None:
    with pytest.raises(TargetError, match=r"; did you mean node/n1\?$"):
        parse("n1", devices)
    with pytest.raises(TargetError, match=r"gpu-3$"):
        parse("n9", devices)


def test_node_and_expression_limit_names(devices: Inventory) -> None:
    assert names(devices, node="n1") == ["a", "b"]
    assert names(devices, where=UUID.format("GPU-b")) == ["b"]
    assert names(devices, f"{DRIVER}/n1/a", f"{DRIVER}/n2") == ["a", "c"]
    assert names(devices, f"{DRIVER}/n2", node="n1") == []


def test_an_expression_that_fails_on_a_device_says_so(devices: Inventory) -> None:
    found = select(devices, [Target(where=UUID.format("GPU-a"))])
    assert [one.device for one in found.ids] == ["a"]
    assert [failure.partition(":")[0] for failure in found.failures] == [
        f"{DRIVER}/n2/c",
        f"{DRIVER}/rack/1/d",
    ]


def test_an_expression_that_does_not_compile_is_refused(devices: Inventory) -> None:
    with pytest.raises(TargetError, match=r"expression 'device\.': "):
        select(devices, [Target(where="device.")])


def test_everything_is_noticed(devices: Inventory) -> None:
    assert select(devices, [Target(driver=DRIVER)]).everything
    assert not select(devices, [Target(node="n1")]).everything


def test_nothing_given_is_refused(devices: Inventory) -> None:
    with pytest.raises(TargetError, match="or choose devices with --node or --where"):
        targets([], devices)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        (Target("gpu.exmaple.com", "n1"), f"drivers with devices: {DRIVER}"),
        (Target(DRIVER, "n3"), f"pools of {DRIVER}: n1, n2, rack/1"),
        (Target(DRIVER, "n1", "z"), f"devices of {DRIVER}/n1: a, b"),
        (Target(node="n9"), "nodes with devices: n1, n2"),
        (Target(DRIVER), ""),
    ],
)
def test_names_that_nothing_has_get_a_hint(devices: Inventory, target: Target, hint: str) -> None:
    assert near(target, devices).startswith(hint)
