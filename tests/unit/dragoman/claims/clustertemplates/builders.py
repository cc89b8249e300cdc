"""Facts about ClusterResourceClaimTemplates, with defaults."""

from typing import Any

from dragoman.claims.clustertemplates.copies import copy_document
from dragoman.model.clustertemplate import ClusterTemplate, Namespace
from dragoman.model.template import Template

SPEC = {"spec": {"devices": {"requests": [{"name": "gpu"}]}}}


def metadata(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    """Return metadata as the API server has it."""
    return {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", **more}


def cluster_template(
    conflict: str = "Keep", template: Any = None, status: Any = None, **more: Any
) -> ClusterTemplate:
    """Return an object `gpu` that selects `team: ml`."""
    return ClusterTemplate.parse(
        {
            "metadata": metadata("gpu", generation=3, **more),
            "spec": {
                "namespaceSelector": {"matchLabels": {"team": "ml"}},
                "conflict": conflict,
                "template": template or SPEC,
            },
            "status": status or {},
        }
    )


def namespace(team: str = "ml", phase: str = "Active") -> Namespace:
    """Return a namespace `ml-1` with a label."""
    return Namespace.parse(
        {"metadata": metadata("ml-1", labels={"team": team}), "status": {"phase": phase}}
    )


def copy(of: ClusterTemplate | None = None, spec: Any = None, **more: Any) -> Template:
    """Return a copy as it is stored."""
    document = copy_document(of or cluster_template(), "ml-1", "resource.k8s.io/v1")
    document["metadata"] |= {"uid": "uid-copy", **more}
    return Template.parse(document | {"spec": spec or document["spec"]})


def own_template() -> Template:
    """Return a template of the name that people created."""
    return Template.parse({"metadata": metadata("gpu", "ml-1"), "spec": SPEC})
