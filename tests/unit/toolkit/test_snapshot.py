"""Snapshots keep what answers need, and nothing else."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.allocation import profile
from dragoman.diagnosis.filters import Load, rejections
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.documents import reduced
from dragoman.inventory.snapshots.snapshot import (
    API_VERSION,
    MAX_LINE,
    Snapshot,
    SnapshotError,
    Unseen,
    dump,
    load,
    read,
)
from dragoman.inventory.usage import summary
from dragoman_toolkit.anonymous import anonymized
from tests.support import manifests as objects
from tests.support.worlds.inventory import (
    CLASS,
    DRIVER,
    claim,
    device_class,
    held,
    pod,
    pool,
    snapshot,
)

SECRET = "never-in-a-snapshot"
HEADER = json.dumps({"apiVersion": API_VERSION, "kind": "Snapshot"}).encode()


def lines(taken: Snapshot) -> list[bytes]:
    return list(dump(taken, version="1"))


def secretive() -> Snapshot:
    """Return a cluster with a secret in every place that is to be left out."""
    config = [{"opaque": {"driver": DRIVER, "parameters": {"password": SECRET}}}]
    opaque = claim()
    opaque["spec"]["devices"]["config"] = config
    opaque["metadata"] |= {"annotations": {"a": SECRET}, "labels": {"a": SECRET}}
    user = pod(claims={"gpu": "claim"}, labels={"app": SECRET})
    user["spec"]["containers"][0] |= {
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "args": [SECRET],
        "image": SECRET,
    }
    kind = device_class()
    kind["spec"]["config"] = config
    template = objects.template("t", "ns", CLASS, metadata={"labels": {"a": SECRET}})
    template["spec"]["spec"]["devices"]["config"] = config
    node = objects.node("n")
    node["metadata"]["labels"]["secret"] = SECRET
    allocated = held(claim("held"), ("n", "device-0"))
    allocated["status"]["allocation"]["devices"]["config"] = [{"source": "FromClaim", **config[0]}]
    allocated["status"]["devices"] = [
        {"driver": DRIVER, "pool": "n", "device": "device-0", "data": {"secret": SECRET}}
    ]
    return snapshot(opaque, user, kind, template, node, allocated, pool("n", 1))


def test_what_is_opaque_or_free_text_is_left_out() -> None:
    written = b"".join(lines(secretive()))
    assert SECRET.encode() not in written
    assert b'"device-0"' in written


def test_labels_of_nodes_stay_where_a_selector_names_them() -> None:
    node = objects.node("n")
    node["metadata"]["labels"] |= {"zone": "z", "rack": "r", "other": "o"}
    local = pool("n", 1)
    local["spec"]["nodeSelector"] = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r"]}]}
        ]
    }
    taken = load(lines(snapshot(node, local, pod(nodeSelector={"zone": "z"}))))
    (found,) = taken.of("nodes")
    assert set(found["metadata"]["labels"]) == {"zone", "rack", "kubernetes.io/hostname"}


def test_a_snapshot_is_read_as_it_was_written() -> None:
    taken = secretive()
    unseen = Unseen("pods", "forbidden", "ns")
    written = Snapshot(taken.taken, taken.kubernetes, taken.objects, (unseen,))
    read = load(lines(written))
    assert set(parse(read).claims) == set(parse(written).claims) == {"ns/claim", "ns/held"}
    assert (read.taken, read.kubernetes, read.unseen) == (written.taken, "v1.36.3", (unseen,))
    assert lines(read) == lines(written)


def test_what_was_not_listed_is_not_listed_after_reading() -> None:
    read = load(lines(Snapshot("", "", {"pods": ()})))
    assert set(read.objects) == {"pods"}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param([], "line 1: expected apiVersion", id="empty"),
        pytest.param([b"{}"], "line 1: expected apiVersion", id="another kind"),
        pytest.param([b"apiVersion: v1"], "line 1: invalid JSON", id="YAML"),
        pytest.param([HEADER, b"[]"], "line 2: expected a JSON object", id="a list"),
        pytest.param([HEADER, b" " * MAX_LINE + b"{}"], "line 2: longer than 4 MiB", id="long"),
    ],
)
def test_other_files_are_refused_with_the_line(written: list[bytes], message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        load(written)


class Endless(io.RawIOBase):
    """A device without an end, such as /dev/zero, of which only little may be read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.given += len(buffer)
        assert self.given < 4 * MAX_LINE, "the whole device is read"
        buffer[:] = (self.content * (len(buffer) // len(self.content) + 1))[: len(buffer)]
        return len(buffer)


@pytest.mark.hostile("snapshot: devices and pipes")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"\0", "line 1: longer than 4 MiB", id="zeros"),
        pytest.param(b"[" * 99, "line 1: longer than 4 MiB", id="one line"),
        pytest.param(b"\n", "line 1: expected apiVersion", id="blank lines"),
        pytest.param(b"\x1f\x8b\x08", "line 1: compressed: gunzip it first", id="gzip"),
    ],
)
def test_devices_without_an_end_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        read(io.BufferedReader(Endless(content)))


@pytest.mark.hostile("snapshot: devices and pipes")
def test_the_size_of_a_pipe_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.inventory.snapshots.snapshot.MAX_SIZE", 1 << 20)
    lines = b"".join([HEADER, b"\n", *[b'{"kind": "Other"}\n'] * 100_000])
    with pytest.raises(SnapshotError, match="larger than 1 MiB"):
        read(io.BytesIO(lines))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "status", "name", "devices", "pool", "requests"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.sampled_from(["Pod", "Node", "ResourceSlice", "ResourceClaim", "DeviceClass"]), JSON)
def test_objects_of_any_shape_are_named_and_left_out(kind: str, content: Any) -> None:
    document = {"kind": kind, **(content if isinstance(content, dict) else {"spec": content})}
    read = load([HEADER, json.dumps(document).encode()])
    world = parse(read)
    facts = (world.pods, world.nodes, world.slices, world.claims, world.classes)
    assert len(world.malformed) + sum(map(len, facts)) == 1


def test_versions_before_v1_are_read_as_v1() -> None:
    old = objects.in_version(claim(), "v1beta1")
    new = claim()
    assert reduced("resourceclaims", old)["spec"] == reduced("resourceclaims", new)["spec"]
    template = objects.template("t", "ns", CLASS, 2)
    old = objects.in_version(template, "v1beta1")
    plural = "resourceclaimtemplates"
    assert reduced(plural, old)["spec"] == reduced(plural, template)["spec"]
    local = pool("n", [{"name": "d", "attributes": {"a": {"int": 1}}}])
    old = objects.in_version(local, "v1beta1")
    assert reduced("resourceslices", old)["spec"] == reduced("resourceslices", local)["spec"]


def test_renaming_leaves_no_name_behind_and_selects_the_same_nodes() -> None:
    where = {"kubernetes.io/hostname": "host-b"}
    group = {"podGroupName": "secret-group"}
    waits = pod("trainer", claims={"gpu": "claim"}, nodeSelector=where, schedulingGroup=group)
    limit = {f"{CLASS}.deviceclass.resource.k8s.io/devices": "8"}
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "secret-quota", "namespace": "ns"},
        "spec": {"hard": limit},
    }
    other = anonymized(snapshot(objects.node("host-b"), waits, quota))
    written = b"".join(lines(other)).decode()
    for name in ("host-b", "trainer", "secret-group", "secret-quota"):
        assert name not in written
    world = parse(other)
    (node,), (found,) = world.nodes.values(), world.pods.values()
    assert rejections(found, node, Load(), {"pods": 10**9}) == ()
    assert world.quotas[0].hard == {"class-1": 8}


def budget(name: str, labels: dict[str, str], allowed: int = 1) -> dict[str, Any]:
    status = {"disruptionsAllowed": allowed, "disruptedPods": {"trainer": "2026-11-22T11:00:00Z"}}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "secret-team"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": status,
    }


def planned() -> Snapshot:
    """Return a cluster with what plans of preemption need, under planted names."""
    user = pod("trainer", "secret-team", node="host-b", labels={"secret-key": "secret-value"})
    user["metadata"]["labels"] |= {"other": "secret-label", "kueue.x-k8s.io/managed": "true"}
    user["metadata"]["annotations"] = {"dragoman.dev/preemptible": "false", "a": "secret-note"}
    user["spec"] |= {
        "priority": 7,
        "preemptionPolicy": "Never",
        "priorityClassName": "secret-class",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "secret-disk"}}],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "secret-zone", "namespaces": ["secret-team"]}
                ]
            }
        },
    }
    user["status"] = {"nominatedNodeName": "host-b"}
    space = {"kind": "Namespace", "metadata": {"name": "secret-team"}}
    return snapshot(
        objects.node("host-b"), user, space, budget("secret-budget", {"secret-key": "secret-value"})
    )


def test_what_plans_need_is_kept_and_nothing_else() -> None:
    read = load(lines(planned()))
    (user,) = read.of("pods")
    assert user["spec"]["priority"] == 7
    assert user["spec"]["volumes"] == [{"persistentVolumeClaim": {}}]
    assert set(user["metadata"]["labels"]) == {"secret-key", "kueue.x-k8s.io/managed"}
    written = b"".join(lines(planned())).decode()
    for text in ("secret-label", "secret-note", "secret-class", "secret-disk", "secret-zone"):
        assert text not in written
    assert (read.format, load([HEADER]).format) == (2, 1)


def test_renaming_hides_what_plans_need_and_selects_the_same_pods() -> None:
    other = anonymized(planned())
    written = b"".join(lines(other)).decode()
    for name in ("secret", "trainer", "host-b"):
        assert name not in written
    (user,), (found,) = other.of("pods"), other.of("poddisruptionbudgets")
    assert found["spec"]["selector"]["matchLabels"].items() <= user["metadata"]["labels"].items()
    assert user["metadata"]["namespace"] == found["metadata"]["namespace"]
    assert user["metadata"]["name"] in found["status"]["disruptedPods"]
    assert user["metadata"]["namespace"] in {
        one["metadata"]["name"] for one in other.of("namespaces")
    }


def test_renaming_changes_names_and_no_number() -> None:
    user = pod("trainer", "secret-team", claims={"gpu": "claim"}, node="host-b")
    taken = snapshot(
        device_class("mig.example.com"),
        objects.node("host-a"),
        objects.node("host-b"),
        pool("host-a", 2),
        pool("host-b", 3),
        held(claim(namespace="secret-team"), ("host-b", "device-1"), pods=[user]),
        held(claim("dragoman-hold-7", "secret-team"), ("host-a", "device-0")),
        user,
    )
    other = anonymized(taken)
    written = b"".join(lines(other)).decode()
    for name in ("host-a", "host-b", "trainer", "secret-team"):
        assert name not in written
    rows = [
        summary.classes(take(parse(one), profile("1.36"))) for one in (taken, load(lines(other)))
    ]
    assert rows[0] == rows[1]
    users = [
        one.users[0].containers
        for device in take(parse(other), profile("1.36")).devices.values()
        for one in device.holdings
        if one.users
    ]
    assert users == [("program-1",)]
