"""`python -m tests.demo`: what dragoman does, step by step on a real control plane.

Environment:
    KEEP: When not empty, everything is left running until Ctrl-C.
    NODE: When not empty, pods are containers on two real nodes (needs root on Linux).
    NO_COLOR: When not empty, no colours.
"""

import os
import sys
import time
from pathlib import Path
from shlex import quote

from urllib3.exceptions import HTTPError

from tests.demo import startup
from tests.demo.interruption import Interruption
from tests.demo.screen import Screen, Style, console, styled
from tests.demo.session import OPERATOR, DeviationError, Session
from tests.demo.steps import STEPS
from tests.demo.summary import summarise
from tests.support.controlplane import binaries
from tests.support.controlplane.api import ApiError

INTERRUPTED = 130
FAULTS = (DeviationError, ApiError, HTTPError, RuntimeError, TimeoutError, ValueError)
"""Reported as one message; anything else is a mistake in the demo itself."""


def main() -> int:
    """Play the demo; returns 0 when everything went as it must."""
    interruption = Interruption()
    with Screen(console(sys.stdout)) as screen:
        try:
            show(screen, interruption)
        except (KeyboardInterrupt, *FAULTS) as error:
            if interruption.happened:
                screen.end("", "Stopped; nothing is left running.")
                return INTERRUPTED
            screen.end("", styled(("The demo failed: ", Style.BAD), str(error)))
            return 1
    return 0


def show(screen: Screen, interruption: Interruption) -> None:
    """Start everything, play all steps, sum up."""
    version, real = binaries.chosen_version(), bool(os.environ.get("NODE"))
    screen.say(
        styled(("dragoman: Dynamic Resource Allocation on a real control plane", Style.STRONG)),
        "Two real nodes run the pods: kubelet, containerd, runc, and a driver for each."
        if real
        else "There is no kubelet: the demo itself reports that pods run and finish.",
        "",
    )
    startup.build(screen, version, real=real)
    start = time.monotonic()
    with startup.session(screen, version, interruption, real=real) as session:
        ready = time.monotonic()
        for number, step in enumerate(STEPS, 1):
            screen.say("", styled((f"{number}  {step.title}", Style.STRONG)))
            step.play(session)
            session.end_step()
        seconds, starting = time.monotonic() - start, ready - start
        lines = summarise(session.plane.audit, session.look(), seconds, starting)
        screen.end("", *lines)
        if os.environ.get("KEEP"):
            keep(session)


def keep(session: Session) -> None:
    """Print commands that work in any folder, and wait for Ctrl-C."""
    session.screen.say(
        "",
        "Everything keeps running until you press Ctrl-C. In another terminal:",
        "",
        *(f"   {line}" for line in commands(session)),
    )
    reported = ""
    try:
        while True:
            try:
                session.look()
            except DeviationError:
                raise
            except Exception as error:  # noqa: BLE001 — whatever a user applies, the cluster stays
                if reported != (reported := f"the table is not drawn: {error!r}"):
                    session.note(reported)
            time.sleep(0.5)
    except KeyboardInterrupt:
        session.screen.end("", "Stopped; nothing is left running.")


def commands(session: Session) -> list[str]:
    """Return shell commands to go on with; paths are absolute."""
    plane, examples = session.plane, Path("examples").resolve()
    kubectl = binaries.find(["kubectl"], plane.version)["kubectl"]
    path = f"{Path(sys.executable).parent}:{kubectl.parent}"
    return [
        f"export KUBECONFIG={quote(str(plane.kubeconfig))} PATH={quote(path)}:$PATH",
        "kubectl get pods,resourceclaims",
        f"kubectl replace --force -f {quote(str(examples / 'claims/batch.yaml'))}",
        f"kubectl apply -f {quote(str(examples / 'configs/bad-class.yaml'))}",
        "kubectl dra top nodes",
        "kubectl dra ui",
        f"tail -f {quote(str(plane.processes[OPERATOR].log))}",
    ]


if __name__ == "__main__":
    sys.exit(main())
