"""ResourceSlices of resource.k8s.io/v1."""

from dataclasses import dataclass

from dragoman.model.device import CounterSet, Device, parse_counter_set, parse_device
from dragoman.model.deviceid import PoolID
from dragoman.model.fields import (
    Document,
    flag,
    integer,
    items,
    mapping,
    optional_text,
    require_object,
    text,
    texts,
)
from dragoman.model.nodeselector import NodeSelector, node_selector


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A ResourceSlice."""

    name: str  # `metadata.name`.
    driver: str  # `spec.driver`.
    pool: str  # `spec.pool.name`.
    generation: int = 0  # `spec.pool.generation`.
    slice_count: int = 0  # `spec.pool.resourceSliceCount`.
    node_name: str | None = None  # `spec.nodeName`, None when unset.
    all_nodes: bool = False  # `spec.allNodes`.
    node_selector: NodeSelector | None = None  # `spec.nodeSelector`.
    per_device: bool | None = None  # `spec.perDeviceNodeSelection`, None when unset.
    devices: tuple[Device, ...] = ()  # In the order of the slice
    shared_counters: tuple[CounterSet, ...] = ()  # `spec.sharedCounters`.
    skip_node_operations: tuple[str, ...] = ()  # `spec.skipNodeOperations` (1.37, alpha).
    partition_attribute: str = ""  # `spec.partitionTypeAttribute` (1.37, alpha), empty where unset.
    created: str = ""  # `metadata.creationTimestamp`, empty where unset.

    @property
    def pool_id(self) -> PoolID:
        """The pool that the slice belongs to."""
        return PoolID(self.driver, self.pool)


def parse_slice(document: Document) -> Slice:
    """Read a ResourceSlice; raise MalformedObjectError naming the field."""
    require_object(document)
    metadata = mapping(document, "metadata")
    spec = mapping(document, "spec")
    pool = mapping(spec, "pool", "spec.")
    driver = text(spec, "driver", "spec.")
    return Slice(
        name=text(metadata, "name", "metadata."),
        driver=driver,
        pool=text(pool, "name", "spec.pool."),
        generation=integer(pool, "generation", "spec.pool."),
        slice_count=integer(pool, "resourceSliceCount", "spec.pool."),
        node_name=optional_text(spec, "nodeName", "spec."),
        all_nodes=flag(spec, "allNodes", "spec.") is True,
        node_selector=node_selector(spec, "nodeSelector", "spec."),
        per_device=flag(spec, "perDeviceNodeSelection", "spec."),
        devices=tuple(
            parse_device(device, driver, f"spec.devices[{index}].")
            for index, device in enumerate(items(spec, "devices", "spec."))
        ),
        shared_counters=tuple(
            parse_counter_set(item, f"spec.sharedCounters[{index}].")
            for index, item in enumerate(items(spec, "sharedCounters", "spec."))
        ),
        skip_node_operations=texts(spec, "skipNodeOperations", "spec."),
        partition_attribute=optional_text(spec, "partitionTypeAttribute", "spec.") or "",
        created=optional_text(metadata, "creationTimestamp", "metadata.") or "",
    )
