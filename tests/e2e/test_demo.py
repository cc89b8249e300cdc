"""`python -m tests.demo`, as `make demo` runs it, with its output in a pipe."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from tests.demo.steps import STEPS
from tests.docs.pages import blocks
from tests.docs.readers import Reader

ROOT = Path(__file__).parent.parent.parent
LIMIT = 600
"""Seconds after which a demo hangs, however busy the machine is."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where the demo keeps its files, so that leftovers are seen."""
    made = tmp_path / "tmp"
    made.mkdir()
    return made


@contextmanager
def demo(folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the demo with its output in a pipe; it ends with the block at the latest."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.demo"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Return the output up to the line that contains the text."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError(f"the demo ended without {text!r}:\n{''.join(lines)}")


def summary(output: str) -> dict[str, str]:
    """Return the numbers of the summary by name."""
    text = output.partition("Summary\n")[2]
    return {
        name.strip(): number
        for name, number in re.findall(r"^ +(.+?) {2,}([\d.]+)", text, re.MULTILINE)
    }


def test_the_demo_plays_all_steps_and_leaves_nothing_behind(folder: Path) -> None:
    with demo(folder) as process:
        output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output
    titles = [f"{number}  {step.title}" for number, step in enumerate(STEPS, 1)]
    assert [line for line in output.splitlines() if line in titles] == titles
    assert "\x1b" not in output, "escape sequences in a pipe"
    assert [*folder.iterdir()] == []

    claims = set(
        re.findall(r"(?:batch-\d-gpu|trainer-(?:left|right)|viewer-gpu)-[a-z0-9]{5}", output)
    )
    assert len(claims) == 10, "a claim changed its name, or was made twice"
    numbers = summary(output)
    assert {
        name: numbers[name] for name in ("pods", "claims made", "claims left", "devices free")
    } == {
        "pods": "12",
        "claims made": "10",
        "claims left": "1",
        "devices free": "8",
    }
    assert int(numbers["writes"]) > 30

    said = " ".join(output.split())
    claim, template = "spec.devices.config[0].opaque.parameters", "spec.spec.devices.config[0]"
    assert f'{claim}.sharing.strategy: Unsupported value: "MSP"' in said
    assert 'spec.config[0].opaque.parameters.mode: Unsupported value: "passthrough"' in said
    assert "Pod default/trainer has been waiting for devices" in said
    assert f"{template}.opaque.parameters.domainID: Required value" in said
    assert re.search(
        r"^ +compute-domain.nvidia.com +\S+ +Enforce +2/2 +True +1 ", output, re.MULTILINE
    )


@pytest.mark.slow
def test_the_commands_of_a_kept_demo_work_in_any_folder(folder: Path, tmp_path: Path) -> None:
    with demo(folder, KEEP="1") as process:
        read_until(process, "In another terminal:")
        printed = read_until(process, "tail -f").splitlines()
        export, listing, replace, refusal, top, page, tail = (
            line.strip() for line in printed if line.strip()
        )

        def shell(line: str, status: int = 0) -> str:
            command = ["bash", "-c", f"{export}\n{line}"]
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == status, f"{line}\n{done.stdout}{done.stderr}"
            return done.stdout + done.stderr

        claims = re.findall(r"resourceclaim\S+/(\S+)", shell(f"{listing} -o name"))
        assert claims == ["shared-gpu"]
        assert quickstart(export) == []
        assert "pod/batch-1 replaced" in shell(replace)
        assert 'Unsupported value: "passthrough"' in shell(refusal, 1)
        assert "node-a" in shell(top)
        assert "kubectl dra ui" in shell(f"{page} --help")
        (tmp_path / "any.yaml").write_text(yaml.safe_dump_all(unusual()))
        assert shell("kubectl apply -f any.yaml").count("created") == len(unusual())
        time.sleep(2)  # the demo looks twice a second
        assert len(shell("kubectl get resourceslices -o name").split()) == 2 + 3
        assert "claim" in shell(tail.replace("tail -f", "tail -n 5"))
        process.send_signal(signal.SIGINT)
        last, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert "nothing is left running" in last
    assert [*folder.iterdir()] == []


def unusual() -> list[dict[str, Any]]:
    """Return valid slices of other forms than the demo's own."""
    term = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}
    forms: dict[str, dict[str, Any]] = {
        "counters": {
            "nodeName": "node-a",
            "sharedCounters": [{"name": "set", "counters": {"slices": {"value": "7"}}}],
        },
        "selector": {"nodeSelector": {"nodeSelectorTerms": [term]}, "devices": [{"name": "one"}]},
        "everywhere": {"allNodes": True, "devices": [{"name": "one"}]},
    }
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {
                "driver": "other.example.com",
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                **form,
            },
        }
        for name, form in forms.items()
    ]


def quickstart(export: str) -> list[str]:
    """Type what the quickstart says after the demo's first line, in the checkout; return faults."""
    lines = subprocess.run(
        ["bash", "-c", f"{export}\nenv"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    commands = [
        command
        for block in blocks(ROOT / "docs/quickstart.md")
        for command in block.commands
        if block.runs and "make demo" not in command.line
    ]
    assert len(commands) > 7
    with TemporaryDirectory() as home:  # without one, kubectl writes its cache into the checkout
        typed = {name: variables[name] for name in ("KUBECONFIG", "PATH")} | {"HOME": home}
        reader = Reader(ROOT, typed)
        return [fault for one in commands if (fault := reader.follow(one, Path("docs")))]


@pytest.mark.slow
def test_an_interrupted_demo_cleans_up_and_says_so_by_its_status(folder: Path) -> None:
    with demo(folder) as process:
        read_until(process, STEPS[1].title)
        process.send_signal(signal.SIGINT)
        last, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, last
    assert "nothing is left running" in last
    assert [*folder.iterdir()] == []


@pytest.mark.slow
def test_a_demo_whose_operator_dies_fails_and_names_it(folder: Path) -> None:
    with demo(folder) as process:
        read_until(process, STEPS[1].title)
        os.kill(operator_of(process.pid), signal.SIGKILL)
        last, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "The demo failed: dragoman ended" in last
    assert re.search(r"^control plane logs: \S+$", last, re.MULTILINE)


def operator_of(demo_pid: int) -> int:
    """Return the process id of the demo's operator."""
    children = subprocess.run(
        ["ps", "--ppid", str(demo_pid), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return next(int(child.split()[0]) for child in children if "dragoman operator" in child)
