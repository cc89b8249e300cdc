"""The reasons of requests: each is held against each device alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.allocation.cluster import Cluster
from dragoman.allocation.codes import Code, Reason
from dragoman.allocation.reasons.devices import DeviceObstacles
from dragoman.allocation.reasons.obstacles import DeviceObstacle
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared, named
from dragoman.allocation.search.view import NodeView
from dragoman.model.deviceid import DeviceID


class RequestReasons:
    """The reasons of all requests of a pod on one node.

    Attributes:
        served: After `reasons`: whether enough devices pass for every request.
        usable: After `reasons`: positions of the devices that pass, by request.
    """

    def __init__(
        self, prepared: Prepared, view: NodeView, cluster: Cluster, names: Sequence[str]
    ) -> None:
        self.served = bool(prepared.claims)
        self.usable: dict[PreparedRequest, list[int]] = {}
        self._names = names
        self._prepared = prepared
        self._view = view
        self._obstacles = DeviceObstacles(view, cluster)

    def reasons(self) -> Iterator[Reason]:
        """Yield the reasons of every request, and note whether each could be served alone."""
        for top in (one for requests in self._prepared.requests for one in requests):
            enough = False
            for request in top.alternatives:
                served, found = self._of_request(request)
                yield from found
                enough = enough or served
            self.served = self.served and enough

    def up_to(self, claim: str, name: str, device: DeviceID) -> Iterator[Reason]:
        """Yield the reasons of the devices that the search looked at before it met an error.

        Args:
            claim: The claim at which it met the error.
            name: The request, or subrequest.
            device: The device.
        """
        for requests in self._prepared.requests:
            for request in (one for top in requests for one in top.alternatives):
                found = self._of_request(request)[1]
                if (self._claim(request), request.full_name) != (claim, name):
                    yield from found
                    continue
                order = {one: position for position, one in enumerate(self._ids())}
                last = order.get(device, 0)
                yield from (
                    reason
                    for reason in found
                    if reason.device is not None and order[reason.device] < last
                )
                return

    def fatal(self, claim: str, name: str, device: DeviceID) -> DeviceObstacle | None:
        """Return the obstacle of the device at which the search met an error."""
        for request in self._prepared.everything():
            if (self._claim(request), request.full_name) == (claim, name):
                found = self._obstacles.of_request(request, claim)
                return found[self._ids().index(device)]
        return None

    def _claim(self, request: PreparedRequest) -> str:
        return named(request.place, self._names)

    def _ids(self) -> list[DeviceID]:
        return [device for pool in self._view.pools for device in pool.ids]

    def _of_request(self, request: PreparedRequest) -> tuple[bool, list[Reason]]:
        """Return whether a request can be served alone, and what keeps devices from it."""
        claim, name = self._claim(request), request.full_name
        found: list[Reason] = []
        usable: list[int] = []
        lost = unknown = position = 0
        obstacles = self._obstacles.of_request(request, claim)
        for pool in self._view.pools:
            for device in pool.ids:
                obstacle = obstacles[position]
                if obstacle is None:
                    usable.append(position)
                elif obstacle.ends_attempt:
                    # The attempt has not ended, so the search did not reach the device.
                    unknown += 1
                else:
                    lost += not obstacle.left_out
                    found.append(Reason(obstacle.code, claim, name, device, None, obstacle.details))
                position += 1
        self.usable[request] = usable
        possible = len(usable) + unknown
        if request.everything:
            served = possible > 0 and not lost
        else:
            served = possible >= request.exact.count
        if not served:
            details: dict[str, Any] = {
                "wanted": request.exact.count,
                "usable": len(usable),
                "seen": position,
            }
            if request.everything:
                details |= {"wanted": "all", "meant": len(usable) + lost}
            found.append(Reason(Code.NOT_ENOUGH_DEVICES, claim, name, details=details))
        return served, found
