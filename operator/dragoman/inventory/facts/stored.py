"""Facts of stored ResourceSlices and DeviceTaintRules, as informers keep them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType
from typing import Self

from dragoman.inventory.snapshots.documents import Document, reduced
from dragoman.model.conditions import Condition, parse_conditions
from dragoman.model.deviceid import PoolID
from dragoman.model.fields import integer, items, mapping, optional_text, text
from dragoman.model.metadata import Metadata
from dragoman.model.slice import Slice, parse_slice
from dragoman.model.taints import DeviceTaintRule, Taint, parse_taint, parse_taint_rule

UNTAINTED: Mapping[str, tuple[Taint, ...]] = MappingProxyType({})
PROGRESS = "EvictionInProgress"
"""The condition of a DeviceTaintRule that eviction controllers write."""
STOCK_MANAGER = "device-taint-eviction-controller"
"""Field manager of the eviction controller in kube-controller-manager."""


@dataclass(frozen=True, slots=True)
class StoredSlice:
    """A ResourceSlice: which devices it publishes, and their taints."""

    metadata: Metadata  # Identity
    driver: str  # `spec.driver`.
    pool: str  # `spec.pool.name`.
    generation: int = 0  # `spec.pool.generation`.
    slice_count: int = 0  # `spec.pool.resourceSliceCount`.
    devices: tuple[str, ...] = ()  # Names of the devices, in their order
    # Taints of the driver, by device; devices without taints are left out
    taints: Mapping[str, tuple[Taint, ...]] = field(default_factory=lambda: UNTAINTED)
    # The whole slice; None unless a controller needs attributes or counters
    content: Slice | None = field(default=None, repr=False)

    @property
    def pool_id(self) -> PoolID:
        """The pool that the slice belongs to."""
        return PoolID(self.driver, self.pool)

    @classmethod
    def parse(cls, document: Document, *, content: bool = False) -> Self:
        """Parse a ResourceSlice of v1 or v1beta2.

        Args:
            document: The object as the API server sent it.
            content: Whether to keep attributes, capacities and counters as well.

        Raises:
            MalformedObjectError: A field has another shape than its API; the message names it.
        """
        whole = parse_slice(document) if content else None
        spec = mapping(document, "spec")
        pool = mapping(spec, "pool", "spec.")
        names, taints = _devices(spec)
        return cls(
            metadata=Metadata.parse(document),
            driver=intern(text(spec, "driver", "spec.")),
            pool=intern(text(pool, "name", "spec.pool.")),
            generation=integer(pool, "generation", "spec.pool."),
            slice_count=integer(pool, "resourceSliceCount", "spec.pool."),
            devices=names,
            taints=taints,
            content=whole,
        )

    @classmethod
    def parse_v1beta1(cls, document: Document, *, content: bool = False) -> Self:
        """Parse a ResourceSlice of v1beta1, whose devices are wrapped in `basic`."""
        flat = reduced("resourceslices", document)
        return cls.parse({**document, "spec": flat.get("spec")}, content=content)


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A DeviceTaintRule."""

    metadata: Metadata  # Identity
    generation: int  # `metadata.generation`: it counts changes of the spec.
    rule: DeviceTaintRule  # Selector and taint
    # The condition `EvictionInProgress`, None while there is none
    progress: Condition | None = None
    # When the stock controller last wrote the status, as an API timestamp; empty if it never did.
    # From `metadata.managedFields`.
    stock_stamp: str = ""
    # The reduced object, in which drains look for their labels and annotations
    document: Document = field(default_factory=dict, hash=False, repr=False)

    @classmethod
    def parse(cls, document: Document) -> Self:
        """Parse a DeviceTaintRule of any version; raise MalformedObjectError naming the field."""
        metadata = mapping(document, "metadata")
        return cls(
            metadata=Metadata.parse(document),
            generation=integer(metadata, "generation", "metadata."),
            rule=parse_taint_rule(document),
            progress=_progress(mapping(document, "status")),
            stock_stamp=max(
                (
                    optional_text(one, "time", "metadata.managedFields[].") or ""
                    for one in items(metadata, "managedFields", "metadata.")
                    if one.get("manager") == STOCK_MANAGER
                ),
                default="",
            ),
            document=reduced("devicetaintrules", document),
        )


def _devices(spec: Document) -> tuple[tuple[str, ...], Mapping[str, tuple[Taint, ...]]]:
    names = []
    taints = {}
    for index, device in enumerate(items(spec, "devices", "spec.")):
        name = device.get("name")
        if type(name) is not str:  # text() says what is wrong, and costs more than all the rest
            name = text(device, "name", f"spec.devices[{index}].")
        # Thousands of slices repeat the names of devices.
        names.append(intern(name))
        if "taints" in device:
            within = f"spec.devices[{index}].taints[]."
            found = items(device, "taints", f"spec.devices[{index}].")
            taints[names[-1]] = tuple(parse_taint(one, within) for one in found)
    return tuple(names), taints or UNTAINTED


def _progress(status: Document) -> Condition | None:
    found = parse_conditions(status, "status.")
    return next((one for one in found if one.type == PROGRESS), None)
