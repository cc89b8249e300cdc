"""What the demo draws and how it judges."""

import io
import re
import subprocess
import sys
from typing import Any, cast
from unittest.mock import create_autospec

import pytest

from tests.demo.interruption import Interruption
from tests.demo.kubelet import Kubelet
from tests.demo.overview import State, overview_of
from tests.demo.screen import Screen, Style, console, run_in_terminal, styled
from tests.demo.session import DeviationError, Session
from tests.demo.summary import AT_MOST, EXACTLY, judge
from tests.demo.table import block
from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane

AS_EXPECTED = EXACTLY | AT_MOST


class Terminal(io.StringIO):
    """A terminal, as far as rich can see."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


def test_a_pipe_gets_the_lines_and_nothing_else() -> None:
    out = io.StringIO()
    with Screen(console(out)) as screen:
        screen.show("table")
        screen.say(styled(("done", Style.GOOD)), "")
    assert out.getvalue() == "done\n\n"


def test_a_terminal_redraws_the_block_below_the_lines() -> None:
    out = Terminal()
    with Screen(console(out)) as screen:
        screen.show("one\ntwo")
        out.truncate(0)
        screen.say("said")
        drawn = out.getvalue().lstrip("\0")
    assert drawn.index("\x1b[1A") < drawn.index("said") < drawn.index("one") < drawn.index("two")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        pytest.param({}, True, id="colours on a terminal"),
        pytest.param({"NO_COLOR": "1"}, False, id="none where NO_COLOR is set"),
        pytest.param({"NO_COLOR": ""}, True, id="an empty NO_COLOR says nothing"),
        pytest.param({"TERM": "dumb"}, False, id="none on a dumb terminal"),
    ],
)
def test_colours(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Terminal()
    Screen(console(out)).say(styled(("done", Style.GOOD)))
    assert ("\x1b[32m" in out.getvalue()) is coloured


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    pod = world_pod(phase="Running")
    claim = objects.claim("trainer-right-abcde", "default", "any") | {
        "status": allocated("gpu-0") | {"reservedFor": [{"uid": uid} for uid in ("u", "v", "w")]}
    }
    overview = overview_of([pod], [claim], [], [objects.resource_slice("node-a", 4)])
    out = io.StringIO()
    Screen(console(out)).say(block(overview))
    lines = out.getvalue().splitlines()
    assert "trainer-right-abcde" in lines[2]
    assert max(map(len, lines)) < 80


def world_pod(phase: str, bound: str = "trainer-right-abcde") -> dict[str, Any]:
    """Return a pod of one template entry, with its status."""
    pod = objects.pod("notebook-1", "default", templates={"gpu": "one-gpu"}, nodeName="node-a")
    pod["metadata"]["uid"] = "u"
    statuses = [{"name": "gpu", "resourceClaimName": bound}] if bound else []
    return pod | {"status": {"phase": phase, "resourceClaimStatuses": statuses}}


def allocated(device: str) -> dict[str, Any]:
    """Return a claim's status with one device of node-a."""
    return {"allocation": {"devices": {"results": [{"pool": "node-a", "device": device}]}}}


FOR_THE_POD = {"reservedFor": [{"uid": "u"}]}


@pytest.mark.parametrize(
    ("phase", "status", "template", "state"),
    [
        pytest.param("Pending", None, False, State.NO_TEMPLATE, id="no template"),
        pytest.param("Pending", None, True, State.NO_CLAIM, id="a template, no claim yet"),
        pytest.param("Pending", {}, True, State.NO_DEVICE, id="a claim without a device"),
        pytest.param(
            "Pending", allocated("gpu-0"), True, State.NO_DEVICE, id="a device for somebody else"
        ),
        pytest.param(
            "Pending", allocated("gpu-0") | FOR_THE_POD, True, State.SCHEDULED, id="scheduled"
        ),
        pytest.param(
            "Running", allocated("gpu-0") | FOR_THE_POD, True, State.RUNNING, id="running"
        ),
        pytest.param(
            "Succeeded", allocated("gpu-0") | FOR_THE_POD, True, State.RELEASING, id="just done"
        ),
        pytest.param("Succeeded", {}, True, State.FINISHED, id="done and released"),
        pytest.param("Failed", None, True, State.FINISHED, id="failed, claim gone"),
    ],
)
def test_what_a_row_says(
    phase: str, status: dict[str, Any] | None, template: bool, state: State
) -> None:
    pod = world_pod(phase, bound="c" if status is not None else "")
    claims = [] if status is None else [objects.claim("c", "default", "any") | {"status": status}]
    templates = [objects.template("one-gpu", "default", "any")] if template else []
    overview = overview_of([pod], claims, templates, [])
    assert [row.state for row in overview.rows] == [state]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeName": "node-b", "sharedCounters": []}, id="counters without devices"),
        pytest.param({"nodeName": "node-b", "devices": None}, id="null for its devices"),
        pytest.param({"nodeSelector": {}, "devices": [{"name": "gpu-0"}]}, id="a node selector"),
        pytest.param({"allNodes": True, "devices": [{"name": "gpu-0"}]}, id="all nodes"),
        pytest.param(
            {"perDeviceNodeSelection": True, "devices": [{"name": "gpu-0", "nodeName": "node-b"}]},
            id="a node for each device",
        ),
    ],
)
def test_any_slice_that_a_user_applies_is_shown(spec: dict[str, Any]) -> None:
    pool = {"name": "pool-b", "generation": 1, "resourceSliceCount": 1}
    other = {"metadata": {"name": "b"}, "spec": {"driver": "b.example.com", "pool": pool, **spec}}
    overview = overview_of([], [], [], [objects.resource_slice("node-a", 4), other])
    assert len(overview.devices) == 4 + len(spec.get("devices") or ())
    out = io.StringIO()
    Screen(console(out)).say(block(overview))
    assert "0 of" in out.getvalue()


def test_any_claim_and_pod_that_a_user_applies_is_shown() -> None:
    pod = objects.pod("a", "default")
    pod["spec"]["resourceClaims"] = [{"name": "none"}, {"name": "b", "resourceClaimName": "b"}]
    pod["metadata"]["uid"] = "u"
    claim = objects.claim("b", "default", "any") | {
        "status": {"allocation": {}, "reservedFor": None}
    }
    overview = overview_of([pod], [claim], [], [])
    assert [row.state for row in overview.rows] == [State.NO_CLAIM, State.NO_DEVICE]
    assert str(overview.rows[0].pod) == "a"


def test_a_command_lays_its_output_out_for_the_columns_that_are_left() -> None:
    code = (
        "import os, sys; print(os.get_terminal_size(1).columns); sys.stderr.write('x'); sys.exit(3)"
    )
    done = run_in_terminal([sys.executable, "-c", code], 75)
    assert (done.stdout, done.stderr, done.returncode) == ("75\n", "x", 3)


def test_a_quoted_line_keeps_its_bullet() -> None:
    out = io.StringIO()
    path = "spec.devices.config[0].opaque.parameters.sharing.strategy: " + "word " * 20
    stage_that(Answering(0, ""), out).quote(f"denied:\n* {path}")
    first, second, third = out.getvalue().splitlines()
    assert first == "     denied:"
    assert second.startswith("     * spec.devices.config[0]")
    assert third.startswith("       word")


def test_the_writes_that_the_story_needs_are_accepted() -> None:
    judge(AS_EXPECTED)
    judge(AS_EXPECTED | {"patch resourceclaims/status": 11})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"create resourceclaims": 11}, "create resourceclaims: 11 instead of 10"),
        ({"patch pods/status": 0}, "patch pods/status: 0 instead of 9"),
        ({"patch resourceclaims/status": 99}, "patch resourceclaims/status: 99, more than 13"),
        ({"update pods": 1}, "update pods: not expected at all"),
    ],
)
def test_other_writes_are_named(change: dict[str, int], message: str) -> None:
    with pytest.raises(DeviationError, match=message):
        judge(AS_EXPECTED | change)


class Answering:
    """A control plane where kubectl has one answer to everything."""

    def __init__(self, status: int, stderr: str) -> None:
        self._status, self._stderr = status, stderr
        self.processes: dict[str, Any] = {}

    def api(self) -> "Answering":
        return self

    def list(self, *_: Any) -> list[Any]:
        return []

    def kubectl(self, *words: str, check: bool) -> subprocess.CompletedProcess[str]:
        assert not check
        return subprocess.CompletedProcess(words, self._status, "", self._stderr)


def stage_that(plane: Answering, out: io.StringIO) -> Session:
    nobody = create_autospec(Interruption, instance=True)  # a real one takes the signals over
    kubelet = create_autospec(Kubelet, instance=True)
    return Session(cast("ControlPlane", plane), Screen(console(out)), nobody, kubelet)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param(0, "Warning: spec.mode: Unsupported", id="let in with a warning"),
        pytest.param(1, "failed calling webhook", id="refused because nobody answered"),
        pytest.param(1, "spec.model: Unsupported", id="refused for another field"),
    ],
)
def test_a_scene_fails_where_something_is_not_refused_for_its_fault(status: int, said: str) -> None:
    session = stage_that(Answering(status, said), io.StringIO())
    with pytest.raises(DeviationError, match=re.escape(said)):
        session.refuse("bad.yaml", "spec.mode")


def test_a_refusal_is_quoted() -> None:
    out = io.StringIO()
    stage_that(Answering(1, "bad: spec.mode: Unsupported"), out).refuse("bad.yaml", "spec.mode")
    assert "$ kubectl apply -f bad.yaml\n" in out.getvalue()
    assert "     bad: spec.mode: Unsupported\n" in out.getvalue()
