"""Names, shapes, faults and the checkpoint of the pretended driver."""

from pathlib import Path

import pytest

from dragoman_drivers.kubeletplugin.messages import ClaimReference, PreparedDevice
from dragoman_drivers.pretend import faults, guard, shapes
from dragoman_drivers.pretend.checkpoint import Checkpoint, CheckpointError
from dragoman_drivers.pretend.guard import Surroundings
from dragoman_drivers.pretend.preparation import Preparation
from dragoman_drivers.pretend.slices import PretendPool, manifests

REAL = {"metadata": {"name": "real"}, "spec": {"devices": [{"name": "a"}]}}


@pytest.mark.parametrize(
    ("name", "around", "problem"),
    [
        ("pretend.gpu.nvidia.com", Surroundings(False, False), ""),
        ("gpu.nvidia.com", Surroundings(False, False), "--i-know"),
        ("gpu.nvidia.com", Surroundings(True, False), ""),
        ("gpu.nvidia.com", Surroundings(False, True), ""),
        ("gpu.nvidia.com", Surroundings(True, True, (REAL,)), "publishes real"),
        ("gpu.nvidia.com", Surroundings(True, True, (), (Path("/x.sock"),)), "x.sock exists"),
        ("x" * 64, Surroundings(True, True), "at most 63"),
    ],
)
def test_a_real_name_is_refused_where_the_driver_could_be(
    name: str, around: Surroundings, problem: str
) -> None:
    found = guard.refusal(name, around)
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_shape_is_marked_and_the_same_each_time() -> None:
    make = shapes.parse("gpu.nvidia.com:8xH100")
    assert make("n") == make("n")
    assert make("n") != make("m")
    (pool,) = make("n")
    assert len(pool.devices) == 8
    assert all(shapes.MARK in one["attributes"] for one in pool.devices)


def test_each_pool_of_an_own_shape_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
apiVersion: cli.dragoman.dev/v1alpha1
kind: NodeShape
metadata: {name: own}
provider: own
machineType: own
node: {architecture: amd64}
pools:
- {driver: d.example, evidence: recorded, complete: true, devices: [{name: a}]}
- driver: d.example
  name: "2"
  evidence: recorded
  complete: true
  devices: [{name: a}, {name: b}]
- {driver: e.example, evidence: recorded, complete: true, devices: [{name: c}]}
"""
    (tmp_path / "own.yaml").write_text(text)
    monkeypatch.setenv("DRAGOMAN_SHAPES", str(tmp_path))
    pools = shapes.parse("own", "d.example")("n")
    assert [(one.name, len(one.devices)) for one in pools] == [("", 1), ("2", 2)]
    assert [one.driver for one in shapes.parse("own", "e.example")("n")] == ["e.example"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8xH100", "no shape of 8xH100 is recorded"),
        ("gpu.nvidia.com:8xH10", "did you mean H100"),
        ("gpu.nvidea.com:8xH100", "did you mean gpu.nvidia.com"),
        ("gpu.nvidia.com:99999xH100", "at most"),
    ],
)
def test_a_bad_shape_is_named(text: str, problem: str) -> None:
    with pytest.raises(shapes.ShapeError, match=problem):
        shapes.parse(text)


def test_a_thousand_devices_are_split_and_counters_come_without_devices() -> None:
    (one,) = shapes.parse("gpu.nvidia.com:1000xH100")("n")
    found = manifests(PretendPool("pretend.gpu.nvidia.com", "n", one.devices), 1, None)
    assert [len(each["spec"]["devices"]) for each in found] == [128] * 7 + [104]
    (parts,) = shapes.parse("gpu.nvidia.com:8xH100-MIG")("n")
    divided = manifests(PretendPool("p", "n", parts.devices, parts.counters), 1, None)
    assert "devices" not in divided[0]["spec"]
    assert all(one["spec"]["pool"]["resourceSliceCount"] == len(divided) for one in divided)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("slow", "needs a value"),
        ("slow=fast", "number of seconds"),
        ("double=1", "takes no value"),
        ("dubble", "did you mean double"),
        ("enumeration=random", "known is enumeration=reversed"),
    ],
)
def test_a_bad_fault_is_named(text: str, problem: str) -> None:
    with pytest.raises(faults.FaultError, match=problem):
        faults.parse([text], {"double": "I3: a second claim gets a device in use"})


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    claim = ClaimReference("ns", "uid-1", "one")
    device = PreparedDevice(("gpu",), "n", "gpu-0", ("a/b=c",), "share")
    ready = Preparation(claim, (device,), {("gpu-0", "share"): {"x": 1}}, frozenset({"gpu-0"}))
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.read() == {}
    checkpoint.write({"uid-1": ready})
    assert checkpoint.read() == {"uid-1": ready}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.json"]


def test_the_first_release_and_this_one_read_each_others_checkpoints(tmp_path: Path) -> None:
    claim = ClaimReference("ns", "uid-1", "one")
    shares = (("gpu-0", "memory", "1Gi"),)
    ready = Preparation(claim, (), {}, frozenset({"gpu-0"}), shares, "gpu")
    new, first = Checkpoint(tmp_path), Checkpoint(tmp_path)
    first.first = True
    new.write({"uid-1": ready})
    known = first.read()
    assert known == {"uid-1": Preparation(claim, (), {}, frozenset({"gpu-0"}))}
    first.write(known)
    assert new.read() == known


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "claims": [1]}']
)
def test_a_broken_checkpoint_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError):
        Checkpoint(tmp_path).read()
