"""What people meant: advice for mistakes that are often made, beside what is wrong."""

from dragoman_toolkit.linting.knowledge.api import Misfit
from dragoman_toolkit.linting.manifests.manifestobjects import Object

_WRAPPED = "a template wraps the spec of the claim: write spec.spec.devices"
_UNWRAPPED = (
    "only a ResourceClaimTemplate has a spec in its spec: write spec.devices, or the other kind"
)


def unknown_field(obj: Object, misfit: Misfit) -> str:
    """Return where a field that stands in a wrong place belongs; empty without an idea."""
    steps, name = misfit.steps, str(misfit.value)
    if obj.kind == "ResourceClaimTemplate" and steps[:-1] == ("spec",):
        return _WRAPPED if name in ("devices", "requests") else ""
    if obj.kind == "ResourceClaim" and steps == ("spec", "spec"):
        return _UNWRAPPED
    if name == "resourceClaims" and "containers" in steps:
        return "claims belong to the pod: write spec.resourceClaims, and resources.claims here"
    if name == "claims" and steps[-2:-1] and isinstance(steps[-2], int) and "containers" in steps:
        return "write resources.claims"
    if name == "deviceClassName" and steps[-3:-2] == ("resourceClaims",):
        return "a pod names a ResourceClaim or a ResourceClaimTemplate, and that names the class"
    if name == "expression" and "selectors" in steps:
        return "write it below cel: `- cel: {expression: …}`"
    if name == "exactly" and "firstAvailable" in steps:
        return "alternatives have the fields next to their name: leave `exactly` out"
    if name in ("driver", "parameters") and steps[-3:-2] == ("config",):
        return "write it below opaque: `opaque: {driver: …, parameters: …}`"
    if name == "basic" and obj.kind == "ResourceSlice":
        return "only v1beta1 has basic; move its fields up"
    return ""


def misfit(found: Misfit) -> str:
    """Return what to write instead of a value of a wrong type; empty without an idea."""
    steps = found.steps
    if steps[-1:] == ("claims",) and steps[-2:-1] in (("limits",), ("requests",)):
        return "claims are no quantity: move them to resources.claims"
    listed = steps[-2:-1] in (("claims",), ("resourceClaims",)) and isinstance(steps[-1], int)
    if listed and isinstance(found.value, str):
        return f"write `- name: {found.value}`"
    if steps[-1:] == ("resourceClaims",) and isinstance(found.value, dict):
        return "write a list: `- name: …`"
    return ""
