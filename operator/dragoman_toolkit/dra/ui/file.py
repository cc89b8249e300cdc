"""Writes the page of `top --html` to a file."""

from pathlib import Path

from dragoman.cli.terminal import say
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.connection import context_name
from dragoman_toolkit.dra.cluster.source import Source, with_queues
from dragoman_toolkit.dra.output import Exit, ProgressLine, Unusable
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.explanations import Explainer
from dragoman_toolkit.dra.ui.page import page

NEEDS = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "resourcequotas"),
)
"""What the page is computed from."""


EXPLAINING = 30.0
"""Seconds for explanations of one file."""


def write(source: Source, file: Path) -> Exit:
    """Write the page to a file that needs no other, and return the exit status.

    Raises:
        Unusable: The cluster cannot be read, or the file not written.
    """
    snapshot = with_queues(source, source.read(NEEDS))
    world = parse(snapshot)
    inventory = take(world, source.profile(world))
    found = page(inventory, snapshot)
    explanations = {}
    with ProgressLine() as progress:
        explainer = Explainer(inventory, snapshot)
        for pod, report in explainer.each((one.key for one in found.waiting), EXPLAINING):
            explanations[pod] = report
            progress("pods explained", len(explanations))
    text = render.whole(
        render.document(found, explanations, live=False),
        title=title(source),
        taken=found.taken,
        kubernetes=found.kubernetes,
        revision=0,
        kind=kind_of(source),
    )
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unusable(f"--html {file}: {error.strerror}") from error
    say(f"{file}: {len(found.rows)} nodes, {sum(found.states.values())} devices")
    return notes.status(world)


def kind_of(source: Source) -> str:
    """Return what the page shows."""
    return render.SNAPSHOT if source.snapshot else render.CLUSTER


def title(source: Source) -> str:
    """Return the name of the cluster: the context's, or the snapshot's file name."""
    if source.snapshot:
        return source.snapshot.name
    named = source.connection.context or context_name(source.connection.kubeconfig)
    return named or "cluster"
