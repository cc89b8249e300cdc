"""The claim that kube-scheduler makes for a pod's extended resources (KEP-5004)."""

from dataclasses import replace

from dragoman.allocation import Cluster, class_of, extended_resources
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts.world import NodeFact


class Extended:
    """The claim for a pod's extended resources, which depends on what a node's plugins publish.

    Attributes:
        shown: The subject with the claim that any node needs.
        served: Resources that the pod requests and that a DeviceClass serves.
    """

    def __init__(self, cluster: Cluster, subject: Subject) -> None:
        self.shown = subject
        self._cluster = cluster
        self._subject = subject
        self._need = subject.pod.needs.requests
        on = cluster.profile.extended_resources
        self.served = {name for name in self._need if on and class_of(name, cluster.classes)}
        self._subjects: dict[frozenset[str], Subject] = {frozenset(): subject}

    def requests(self, node: NodeFact) -> dict[str, int]:
        """Return what a node itself has to provide; classes serve the rest."""
        served = self._by_classes(node)
        return {name: need for name, need in self._need.items() if name not in served}

    def subject(self, node: NodeFact) -> Subject:
        """Return the subject with the claim that the node needs; nodes alike share it."""
        served = self._by_classes(node)
        found = self._subjects.get(served)
        if found is None:
            claim = extended_resources(self._subject.pod.document, node.node, self._cluster).claim
            found = self._subject
            if claim is not None:
                wanted = (*found.wanted, Wanted(claim, "extended resources"))
                found = self.shown = replace(found, wanted=wanted)
            self._subjects[served] = found
        return found

    def _by_classes(self, node: NodeFact) -> frozenset[str]:
        return frozenset(name for name in self.served if not node.node.allocatable.get(name))
