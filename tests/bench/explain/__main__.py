"""How fast `kubectl dra` answers in large clusters: `make bench-explain`."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman import __version__
from dragoman.inventory.snapshots.documents import KINDS, reduced
from dragoman.inventory.snapshots.snapshot import Snapshot, dump
from tests.bench.explain.live import serving
from tests.bench.explain.record import Record, section
from tests.support import manifests as objects

COMMAND = Path(sys.executable).with_name("kubectl-dra")
DRIVER, CLASS, NAMESPACE = "gpu.example.com", "gpu.example.com", "ml"
DEVICES = 8
NOWHERE = "http://127.0.0.1:9"
"""Where no API server is."""
SMALL = 4
"""Nodes of a cluster whose commands are little more than their start-up."""
LIVE: Mapping[str, tuple[tuple[str, ...], int, str]] = {
    "top": (("top",), 0, CLASS),
    "who": (("who", "pod/holder-node-00001"), 0, "holder-node-00001"),
    "explain": (("explain", "pod", "trainer"), 1, "it fits on none of the"),
    "doctor": (("doctor",), 0, "SliceWriteStorm"),
}
"""Commands on an API server, each with its exit status and a part of its answer."""
RUNS = int(os.environ.get("RUNS", "3"))
"""Runs of each command; the fastest counts, since other work only adds to it."""
Json = dict[str, Any]


def world(nodes: int) -> Iterator[Json]:
    """Yield a cluster in which most devices are in use, and a pod that wants two of a model."""
    yield objects.device_class(CLASS, DRIVER)
    for number in range(nodes):
        name = f"node-{number:05}"
        yield objects.node(name)
        devices = [_device(number, index) for index in range(DEVICES)]
        yield objects.resource_slice(name, devices, DRIVER, f"{name}-{DRIVER}")
        # One device in eight is free, of another model or alone on its node.
        yield _holder(name, range(DEVICES - 1))
        yield objects.pod(f"holder-{name}", NAMESPACE, claims={"gpu": f"holder-{name}"})
    selector = f'device.attributes["{DRIVER}"].productName == "H200"'
    waiting = objects.claim("wanted", NAMESPACE, CLASS, 2)
    exactly = waiting["spec"]["devices"]["requests"][0]["exactly"]
    exactly["allocationMode"] = "ExactCount"
    exactly["selectors"] = [{"cel": {"expression": selector}}]
    yield waiting
    yield _refused(objects.pod("trainer", NAMESPACE, claims={"gpu": "wanted"}))


def combination() -> Iterator[Json]:
    """Yield 24 equal devices, and a pod with 25 requests for one."""
    yield objects.device_class(CLASS, DRIVER)
    yield objects.node("node")
    yield objects.resource_slice("node", 24, DRIVER, "slice")
    waiting = objects.claim("wanted", NAMESPACE, CLASS)
    exactly = waiting["spec"]["devices"]["requests"][0]["exactly"]
    exactly |= {"allocationMode": "ExactCount", "count": 1}
    waiting["spec"]["devices"]["requests"] = [
        {"name": f"r{number}", "exactly": exactly} for number in range(25)
    ]
    yield waiting
    yield _refused(objects.pod("trainer", NAMESPACE, claims={"gpu": "wanted"}))


def _device(node: int, index: int) -> Json:
    model = ("H200", "H200", "A100", "L4")[node % 4]
    attributes = {"productName": {"string": model}, "uuid": {"string": f"GPU-{node:05}-{index}"}}
    memory = {"memory": {"value": "141Gi"}}
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": memory}


def _holder(node: str, held: range) -> Json:
    claim = objects.claim(f"holder-{node}", NAMESPACE, CLASS, len(held))
    results = [
        {"request": "devices", "driver": DRIVER, "pool": node, "device": f"gpu-{index}"}
        for index in held
    ]
    user = {"resource": "pods", "name": claim["metadata"]["name"], "uid": f"uid-{node}"}
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": [user]}
    return {**claim, "status": status}


def _refused(pod: Json) -> Json:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {**pod, "status": {"phase": "Pending", "conditions": [condition]}}


def written(manifests: Iterator[Json], path: Path) -> Path:
    """Write manifests as a snapshot."""
    found: dict[str, list[Json]] = {plural: [] for plural in KINDS.values()}
    for number, manifest in enumerate(manifests):
        metadata = {"uid": f"uid-{number}", **manifest["metadata"]}
        plural = KINDS[manifest["kind"]]
        found[plural].append(reduced(plural, {**manifest, "metadata": metadata}))
    taken = Snapshot(
        "2026-11-22T12:00:00Z", "v1.36.3", {name: tuple(one) for name, one in found.items()}
    )
    path.write_bytes(b"".join(dump(taken, version=__version__)))
    return path


def measured(*arguments: object, status: int, expected: str) -> Mapping[str, float]:
    """Run a command; return the seconds and processor seconds of the fastest runs, and memory.

    Raises:
        AssertionError: It ends with another status, or prints something else.
    """
    seconds, processor, memory = [], [], []
    for _ in range(RUNS):
        began = time.monotonic()
        with subprocess.Popen(
            [COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            output = process.stdout.read().decode()
            _, ended, usage = os.wait4(process.pid, 0)
        seconds.append(time.monotonic() - began)
        processor.append(usage.ru_utime + usage.ru_stime)
        memory.append(usage.ru_maxrss / 1024)
        assert os.waitstatus_to_exitcode(ended) == status, output
        assert expected in output, output
    return {"s": min(seconds), "cpu_s": min(processor), "mib": max(memory)}


def main() -> None:
    """Measure, and record."""
    record = Record(load=round(os.getloadavg()[0], 2))
    record.add("help", measured("--help", status=0, expected="explain"))
    record.add("top-no-server", measured("top", "--server", NOWHERE, status=2, expected=""))
    for nodes in (SMALL, 100):
        with serving(world(nodes)) as address:
            for name, (words, status, expected) in LIVE.items():
                live = (*words, "-n", NAMESPACE, "--server", address)
                found = measured(*live, status=status, expected=expected)
                record.add(f"{name}-live-{nodes}", found)
    with tempfile.TemporaryDirectory() as folder:
        explain = ("explain", "pod", "trainer", "-n", NAMESPACE, "--snapshot")
        file = written(combination(), Path(folder) / "combination.jsonl")
        record.add("combination", measured(*explain, file, status=1, expected="time-out"))
        for nodes in (100, 1000, 5000):
            file = written(world(nodes), Path(folder) / f"{nodes}.jsonl")
            record.add(
                f"explain-{nodes}",
                measured(*explain, file, status=1, expected=f"none of the {nodes} nodes"),
            )
            top = ("top", "--snapshot", file)
            record.add(f"top-{nodes}", measured(*top, status=0, expected=CLASS))
            record.save()
    print(section(record))


if __name__ == "__main__":
    main()
