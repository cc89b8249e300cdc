"""Pods that are being deleted on nodes that do not answer: they do not end by themselves."""

from dragoman.doctor.pools import condition
from dragoman.inventory.facts.world import NodeFact, PodFact


def silent_since(node: NodeFact | None) -> str:
    """Return since when a node has not been ready; empty where it is, or is not known."""
    ready = condition(node.document, "Ready") if node else {}
    return str(ready.get("lastTransitionTime") or "") if ready.get("status") != "True" else ""


def fencing(pod: PodFact) -> str:
    """Say what frees the devices of a pod that is being deleted on a node that does not answer."""
    metadata = pod.pod.metadata
    return (
        "it does not end by itself: once the machine is off, kubectl delete pod "
        f"-n {metadata.namespace} {metadata.name} --grace-period=0 --force"
    )
