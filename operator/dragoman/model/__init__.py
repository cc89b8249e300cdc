"""Facts: the objects of the cluster, parsed once at the edge, holding only what decisions use."""

from dragoman.model.allocated import AllocatedDevice, Toleration
from dragoman.model.claim import Claim, Consumer, Template
from dragoman.model.clustertemplate import ClusterTemplate, Namespace
from dragoman.model.fields import Document, MalformedObjectError
from dragoman.model.holder import ClaimEntry, Holder
from dragoman.model.metadata import Metadata, Owner
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup

__all__ = [
    "AllocatedDevice",
    "Claim",
    "ClaimEntry",
    "ClusterTemplate",
    "Consumer",
    "Document",
    "Holder",
    "MalformedObjectError",
    "Metadata",
    "Namespace",
    "Owner",
    "Pod",
    "PodGroup",
    "Template",
    "Toleration",
]
