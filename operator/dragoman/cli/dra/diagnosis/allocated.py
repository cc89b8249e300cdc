"""What `explain` says about a pod that has its devices."""

from collections.abc import Callable

from dragoman.cli.dra.diagnosis.report import DiagnosisView, report
from dragoman.cli.dra.inventory import who_table
from dragoman.cli.dra.output import Cell, Exit, Report, Table
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import PodFact
from dragoman.model.metadata import Metadata

Kubelet = Callable[[Metadata], str]


def allocated(view: DiagnosisView, subject: Subject, kubelet: Kubelet) -> Report:
    """Say which devices a pod has, and what the kubelet waits for.

    Args:
        view: What the command looks at.
        subject: The pod.
        kubelet: Returns the kubelet's last warning about a pod.
    """
    found = subject.pod
    blocks: list[Table | str | Cell] = [
        f"Pod {found.key} has its devices on node {found.pod.node_name}."
    ]
    who = who_table.of_pod(view.inventory, found, _claims(subject))
    blocks += ["", *who.blocks] if who else []
    blocks += [one.text for one in subject.obstacles]
    waits = _waits(found)
    status = Exit.CLEAR
    if waits:
        blocks += ["", f"Its claims are fine; the kubelet has not started it: {waits}."]
        message = kubelet(found.pod.metadata)
        if message:
            blocks.append(f"Last warning of the kubelet: {message}")
            status = Exit.OBSTACLE
    return report(view, Explanation(subject, Answer.ALLOCATED), tuple(blocks), status)


def _claims(subject: Subject) -> set[str]:
    """Return the claims of a pod, with the one for its extended resources."""
    pod = subject.pod.pod
    keys = {one.key for one in subject.allocated}
    return keys | {f"{pod.metadata.namespace}/{pod.extended_claim}"} if pod.extended_claim else keys


def _waits(found: PodFact) -> str:
    """Return why containers wait, as ContainerCreating; empty where none does."""
    status = found.document.get("status")
    statuses = status.get("containerStatuses") if isinstance(status, dict) else None
    reasons = [
        str(((one.get("state") or {}).get("waiting") or {}).get("reason") or "")
        for one in statuses or ()
    ]
    return ", ".join(sorted(set(filter(None, reasons))))
