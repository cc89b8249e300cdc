"""`python -m tests.demo`: claims come and go on a real control plane.

Environment:
    KEEP: When not empty, everything is left running until Ctrl-C.
    NODE: When not empty, pods are containers on two real nodes (needs root on Linux).
    NO_COLOR: When not empty, no colours.
"""

import os
import sys
import time

from urllib3.exceptions import HTTPError

from tests.demo import backstage
from tests.demo.interruption import Interruption
from tests.demo.stage import OPERATOR, DeviationError, Stage
from tests.demo.story import SCENES
from tests.demo.summary import summarise
from tests.demo.terminal import Screen, Span, Tone
from tests.support.controlplane import binaries
from tests.support.controlplane.api import ApiError

INTERRUPTED = 130
FAULTS = (DeviationError, ApiError, HTTPError, RuntimeError, TimeoutError, ValueError)
"""What is told in plain words; anything else is a mistake in the demo itself."""


def main() -> int:
    """Play the demo; returns 0 when everything went as it must."""
    interruption = Interruption()
    with Screen(sys.stdout) as screen:
        try:
            show(screen, interruption)
        except (KeyboardInterrupt, *FAULTS) as error:
            if interruption.happened:
                screen.end("", "Stopped; nothing is left running.")
                return INTERRUPTED
            screen.end("", (Span("The demo failed: ", Tone.BAD), Span(str(error))))
            return 1
    return 0


def show(screen: Screen, interruption: Interruption) -> None:
    """Start everything, play all scenes, sum up."""
    version, real = binaries.chosen_version(), bool(os.environ.get("NODE"))
    screen.say(
        (Span("dragoman: claims come and go on a real control plane", Tone.STRONG),),
        "Two real nodes run the pods: kubelet, containerd, runc, and a driver for each."
        if real
        else "There is no kubelet: the demo itself reports that pods run and finish.",
        "",
    )
    backstage.build(screen, version, real=real)
    start = time.monotonic()
    with backstage.stage(screen, version, interruption, real=real) as stage:
        ready = time.monotonic()
        for number, scene in enumerate(SCENES, 1):
            screen.say("", (Span(f"{number}  {scene.title}", Tone.STRONG),))
            scene.play(stage)
            stage.curtain()
        seconds, starting = time.monotonic() - start, ready - start
        lines = summarise(stage.plane.audit, stage.look(), seconds, starting)
        screen.end("", *lines)
        if os.environ.get("KEEP"):
            keep(stage)


def keep(stage: Stage) -> None:
    """Say how to play with what is there, and wait for Ctrl-C."""
    log = stage.plane.processes[OPERATOR].log
    stage.screen.say(
        "",
        "Everything keeps running until you press Ctrl-C. In another terminal:",
        "",
        f"   export KUBECONFIG={stage.plane.kubeconfig}",
        "   kubectl get pods,resourceclaims",
        "   kubectl replace --force -f examples/claims/batch.yaml",
        "   kubectl apply -f examples/configs/mistyped.yaml",
        f"   tail -f {log}",
    )
    try:
        while True:
            stage.look()
            time.sleep(0.5)
    except KeyboardInterrupt:
        stage.screen.end("", "Stopped; nothing is left running.")


if __name__ == "__main__":
    sys.exit(main())
