"""What steps do: apply files, let pods finish, expect what must follow, show it."""

from __future__ import annotations

import io
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.demo import table
from tests.demo.interruption import Interruption
from tests.demo.kubelet import Kubelet
from tests.demo.overview import Overview, Row, overview_of
from tests.demo.screen import Screen, Style, console, run_in_terminal, styled
from tests.support.controlplane.plane import ControlPlane

if TYPE_CHECKING:
    from tests.demo.nodes import Nodes

NAMESPACE = "default"
OPERATOR, WEBHOOK = "dragoman", "dragoman-webhook"
"""Names of the processes and of their service accounts in examples/."""
PATIENCE = 60.0
"""Seconds after which something that has not happened counts as a fault."""
LINE = 95
"""Columns of a quoted text at most."""
INDENT = 5
"""Columns before what is quoted."""
REDRAWS = 0.1
"""Seconds between two looks at the API server."""


class DeviationError(Exception):
    """Something did not happen as it must; the message says what, and what was seen instead."""


class Session:
    """One namespace of a control plane, and the screen on which it is shown."""

    def __init__(
        self,
        plane: ControlPlane,
        screen: Screen,
        interruption: Interruption,
        kubelet: Kubelet | Nodes,
    ) -> None:
        self.plane = plane
        self._interruption = interruption
        self.screen = screen
        self._api = plane.api()
        self._kubelet = kubelet
        self._shown = Overview((), (), ())
        self._thread = ThreadPoolExecutor(1)
        self._done = time.monotonic()

    def look(self) -> Overview:
        """Return what there is now, after showing it.

        Raises:
            DeviationError: The operator or a part of the control plane has ended.
            KeyboardInterrupt: Somebody wants the demo to end.
        """
        self._interruption.check()
        for process in self.plane.processes.values():
            if process.pid is None:
                raise DeviationError(f"{process.name} ended\n\n{process.tail()}")
        pods = self._api.list("pods", NAMESPACE)
        self._kubelet.attend(pods)
        overview = overview_of(
            pods,
            self._api.list("resourceclaims", NAMESPACE),
            self._api.list("resourceclaimtemplates", NAMESPACE),
            self._api.list("resourceslices"),
        )
        self.screen.show(table.block(overview))
        return overview

    def apply(self, *files: str) -> None:
        """Run kubectl apply, and show what happens meanwhile."""
        options = [option for file in files for option in ("-f", file)]
        self.kubectl("apply", *options)

    def refuse(self, file: str, *paths: str) -> None:
        """Run kubectl apply on what must be refused for faults at these paths, and quote why.

        Raises:
            DeviationError: It was not refused, or for something else.
        """
        start = time.monotonic()
        done = self.kubectl("apply", "-f", file, check=False)
        said = done.stdout + done.stderr
        if not done.returncode or any(f"{path}: " not in said for path in paths):
            raise DeviationError(f"{file} must be refused for {', '.join(paths)}\n\n{said}")
        self.tick("rejected", self._done - start)
        self.quote(said)

    def kubectl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Say that kubectl is run, run it, and show what happens meanwhile."""
        self.command("kubectl", *words)
        running = self._thread.submit(self.plane.kubectl, *words, check=check)
        while not running.done():
            self.pause(REDRAWS, always=True)
        self._done = time.monotonic()
        return running.result()

    def explain(self, pod: str, *words: str) -> None:
        """Run kubectl dra explain on a pod that must wait, and quote the answer.

        Raises:
            DeviationError: The answer does not contain the words, or nothing stands in the way.
        """
        asked = ("dra", "explain", "pod", pod)
        self.command("kubectl", *asked)
        command = [sys.executable, "-m", "dragoman", *asked[1:]]
        options = [f"--kubeconfig={self.plane.kubeconfig}", f"--namespace={NAMESPACE}"]
        if columns := self.screen.columns:
            done = run_in_terminal([*command, *options], columns - INDENT)
        else:
            done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        answer = done.stdout + done.stderr
        said = " ".join(answer.split())
        if done.returncode != 1 or any(word not in said for word in words):
            raise DeviationError(f"explain of {pod} must contain {', '.join(words)}\n\n{answer}")
        self.show(*done.stdout.splitlines())
        self.pause(2.0)

    def publish_devices(self) -> None:
        """Let the devices be published."""
        self.apply(*self._kubelet.hardware)
        if words := self._kubelet.publish_devices():
            self.note(words)

    def inside(self, rows: Iterable[Row]) -> None:
        """Show what pods see from inside their containers, where there are any."""
        seen = {row.pod: words for row in rows if (words := self._kubelet.said(row.pod, row.node))}
        if seen:
            self.note("their containers say:")
            self.show(*(f"{pod}: {words}" for pod, words in seen.items()))

    def finish(self, *pods: str) -> None:
        """Let pods end well, as if their containers had exited."""
        self.note(f"{listed(pods)} {'finishes' if len(pods) == 1 else 'finish'}")
        for pod in pods:
            self._kubelet.finish(pod)
            self._done = time.monotonic()
            self.pause(0.3)

    def expect(self, what: str, happened: Callable[[Overview], bool]) -> Overview:
        """Wait until something is the case, and say so with the seconds since the last deed.

        Raises:
            DeviationError: It is not the case after `PATIENCE` seconds.
        """
        start = time.monotonic()
        while not happened(overview := self.look()):
            if time.monotonic() - start > PATIENCE:
                raise DeviationError(self._explain(what, overview))
            time.sleep(REDRAWS)
        self.tick(what, time.monotonic() - self._done)
        return overview

    def pause(self, seconds: float, *, always: bool = False) -> None:
        """Give a person time to read while the table lives on; no pause where nobody watches."""
        end = time.monotonic() + seconds * (self.screen.live or always)
        while (left := end - time.monotonic()) > 0:
            self.look()
            time.sleep(min(REDRAWS, left))

    def end_step(self) -> None:
        """End a step: show the changes to those who read a log, rest for those who watch."""
        overview = self.look()
        if not self.screen.live and overview != self._shown:
            self.screen.say("", table.snapshot(overview, self._shown))
        self._shown = overview
        self.pause(1.2)

    # Words ------------------------------------------------------------------------------------

    def command(self, *words: str) -> None:
        """Say which command is run."""
        self.screen.say(styled(("   $ ", Style.FAINT), (" ".join(words), Style.FRESH)))

    def note(self, text: str) -> None:
        """Say what is done without a command."""
        self.screen.say(f"   {text}")

    def tick(self, text: str, seconds: float) -> None:
        """Say what has happened, and how long it took."""
        took = (f"  {seconds:.1f} s" if seconds >= 0.1 else "  < 0.1 s", Style.FAINT)
        self.screen.say(styled(("   ✓ ", Style.GOOD), text, took))

    def quote(self, text: str) -> None:
        """Say what somebody else has said; long lines are wrapped, words only where they must."""
        width = min(LINE, (self.screen.columns or LINE + INDENT) - INDENT)
        for line in text.splitlines():
            bullet = "* " if line.startswith("* ") else ""
            wrapper = textwrap.TextWrapper(
                width,
                initial_indent=bullet,
                subsequent_indent=" " * len(bullet),
                break_on_hyphens=False,
                break_long_words=self.screen.live,
            )
            self.show(*wrapper.wrap(line.removeprefix(bullet)))

    def show(self, *lines: str) -> None:
        """Say what somebody else has said, as it stands there."""
        self.screen.say(*[styled((f"{' ' * INDENT}{line}", Style.FAINT)) for line in lines])

    def _explain(self, what: str, overview: Overview) -> str:
        drawing = console(io.StringIO())
        with drawing.capture() as seen:
            drawing.print(table.block(overview))
        log = self.plane.processes[OPERATOR].tail(5)
        return (
            f"expected within {PATIENCE:g} s: {what}\n\nseen instead:\n"
            + seen.get()
            + f"\n\nthe operator's last words:\n{log}"
        )


def listed(names: tuple[str, ...]) -> str:
    """Join names as people do."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
