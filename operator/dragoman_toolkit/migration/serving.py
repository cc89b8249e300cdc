"""Which DeviceClass a claim names for the devices of an extended resource."""

from collections.abc import Collection
from dataclasses import dataclass, field

from dragoman.model.deviceclass import DeviceClass
from dragoman_toolkit.migration.claims import Serving
from dragoman_toolkit.migration.classes import class_name
from dragoman_toolkit.migration.counterparts import NVIDIA
from dragoman_toolkit.migration.sources import Resource, Sources

PRODUCT = "nvidia.com/gpu.product"
_SHARED = "-SHARED"
_MIG_CLASS = "mig.nvidia.com"
"""The class of NVIDIA's chart that selects MIG devices of all profiles."""


@dataclass
class Served:
    """Finds how resources are asked for by claims."""

    sources: Sources
    taken: Collection[str]  # Names of classes that exist
    made: list[str] = field(default_factory=list)  # Classes that have to be made
    used: dict[str, str] = field(default_factory=dict)  # Classes by resource

    def of(self, resource: str) -> Serving | str:
        """Return how a resource is asked for, or why no claim can."""
        (found,) = self.sources.resources({resource}, {resource})
        answer = self._find(found)
        if isinstance(answer, Serving):
            self.used[resource] = answer.class_name
            if answer.class_name not in self.taken and answer.class_name not in self.made:
                self.made.append(answer.class_name)
        return answer

    def _find(self, found: Resource) -> Serving | str:
        stands = found.counterpart
        if stands.loss == "AdminAccess":
            return Serving(stands.driver, admin=True)
        if found.serving is not None:
            return Serving(found.serving.name)
        if mapped := self.sources.mapped.get(found.name):
            return Serving(mapped)
        if not stands.known:
            return f"{stands.loss or 'UnknownResource'}: no device stands for it"
        own = {one.id for one in self.sources.selected(DeviceClass("", stands.selectors))}
        for kind in self.sources.classes:
            if own and {one.id for one in self.sources.selected(kind)} == own:
                return Serving(kind.name)
        if stands.driver == NVIDIA and "/mig-" in found.name and _MIG_CLASS in self.taken:
            return Serving(_MIG_CLASS, stands.selectors)
        return Serving(class_name(found.name, self.taken if own else ()))

    def product(self, label: str, value: str) -> str:
        """Return the selector of GPUs that a label of nodes names; empty where no device has it.

        gpu-feature-discovery writes a product with `-` for spaces, and `-SHARED` behind it where
        pods share GPUs.
        """
        if label != PRODUCT:
            return ""
        names = {
            str(one.content.attributes.get("productName", {}).get("string") or "")
            for one in self.sources.inventory.devices.values()
            if one.id.driver == NVIDIA and one.content
        }
        spelled = value.removesuffix(_SHARED)
        for name in sorted(names - {""}):
            if name.replace(" ", "-") == spelled and "'" not in name and "\\" not in name:
                attribute = f"device.attributes['{NVIDIA}'].productName"
                return f"device.driver == '{NVIDIA}' && {attribute} == '{name}'"
        return ""
