"""DeviceMaintenances, and reading and writing what belongs to them."""

from collections.abc import Callable, Iterable

from dragoman import surroundings
from dragoman.cluster.published import Published, selected
from dragoman.controllers.context import Context
from dragoman.controllers.maintenance.view import MaintenanceView, list_rules
from dragoman.inventory.snapshots.documents import MAINTENANCE, reduced
from dragoman.kube.client import MERGE_PATCH, items
from dragoman.kube.discovery import Served
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import DEVICEMAINTENANCES, Resource
from dragoman.maintenance import holds
from dragoman.maintenance.devicemaintenance import DeviceMaintenance, MaintenanceProgress, status
from dragoman.maintenance.holds import Hold
from dragoman.model.deviceid import DeviceID


class Maintenances:
    """Stored DeviceMaintenances.

    Args:
        context: Of the process.
        served: Which API versions the server has.
        view: Claims and DeviceTaintRules.
        published: Published devices.
        enqueue: Called with the name of each object that changed.
        namespace: Where held claims are created.

    Attributes:
        store: The objects as last known.
        informer: Keeps the store.
    """

    def __init__(  # noqa: PLR0913 — its controller names each part
        self,
        context: Context,
        served: Served,
        view: MaintenanceView,
        published: Published,
        *,
        enqueue: Callable[[str], None],
        namespace: str,
    ) -> None:
        self._view = view
        self._published = published
        self._context, self._client = context, context.client
        self._served = served
        self._namespace = namespace
        self._enqueue = enqueue
        self.informer = Informer(
            self._client, DEVICEMAINTENANCES, DeviceMaintenance.parse, [self._changed]
        )
        self.store = self.informer.store

    async def devices(
        self, stored: DeviceMaintenance, served: Resource | None
    ) -> tuple[DeviceID, ...]:
        """Return the devices that meet the target now, and those that are held for it already.

        A device that a restarting driver does not publish for a moment must not come back in
        service; neither must one whose attribute the target names has changed.

        Raises:
            TargetError: The expression of the target does not compile, or takes too long.
            ApiError: Slices or holds cannot be listed.
        """
        inventory = await self._published.inventory()
        rules = _of(stored.metadata.name, await self._view.rules(served))
        chosen = await selected(inventory, stored.target)
        held = {
            DeviceID(one.selector.driver, one.selector.pool, one.selector.device)
            for one in (*rules, *self._view.holds_of(stored.metadata.name))
            # A user who may create claims in a namespace must not add devices to the target.
            if one.selector.device and one.namespace in ("", self._namespace)
        }
        return (*chosen, *sorted(held - set(chosen)))

    async def holds(self, name: str, rules: Resource | None) -> tuple[Hold, ...]:
        """Return the holds of a DeviceMaintenance, from a live list; raise ApiError."""
        own = {"labelSelector": f"{MAINTENANCE}={name}"}
        claims = [
            reduced("resourceclaims", item)
            async for item in items(self._client, self._served.claims.path(), **own)
        ]
        found = await list_rules(self._client, rules)
        return (*_of(name, found), *holds.read((), claims))

    async def finalize(
        self, stored: DeviceMaintenance, finalizers: tuple[str, ...]
    ) -> DeviceMaintenance | None:
        """Write the finalizers of an object; return it as it is then, None where it is gone.

        Raises:
            ApiError: The object has changed since, or the server did not answer.
        """
        metadata = stored.metadata
        version = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        body = {"metadata": {**version, "finalizers": list(finalizers)}}
        try:
            written = await self._context.writing.patch(
                DEVICEMAINTENANCES.path("", metadata.name), body, MERGE_PATCH
            )
        except ApiError as error:
            if await self.informer.outdated(stored) and error.code == 404:
                return None
            raise
        if metadata.deleting and not finalizers:
            return None
        finalized = DeviceMaintenance.parse(written)
        self.informer.changed(finalized)
        return finalized

    async def write_status(self, stored: DeviceMaintenance, progress: MaintenanceProgress) -> None:
        """Write the status where it differs, unless the object has changed: its event follows."""
        now = surroundings.timestamp()
        wanted = status(stored, progress, now)
        if all(stored.status.get(key) == value for key, value in wanted.items()):
            return
        self._context.require_leading()
        written = await self.informer.patch_status(stored, wanted)
        # The own write must not enqueue the object again.
        if written is not None:
            self.store.put(written)

    def _changed(self, old: DeviceMaintenance | None, new: DeviceMaintenance | None) -> None:
        found = new or old
        assert found is not None
        self._enqueue(found.metadata.name)


def _of(name: str, rules: Iterable[Hold]) -> tuple[Hold, ...]:
    return tuple(one for one in rules if one.maintenance == name and one.managed)
