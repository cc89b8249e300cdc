"""Which devices the requests of a pod mean, free or not, and what the others fail at."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.allocation import Code, NodeSelectorError
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.reasons.obstacles import DeviceObstacle, judge
from dragoman.allocation.requests.expressions import Expression
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import named
from dragoman.allocation.search.view import NodeView
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.emptied import BestCase
from dragoman.inventory.facts.world import NodeFact
from dragoman.model.device import Content
from dragoman.model.deviceid import DeviceID

_CAPACITY = frozenset({Code.CAPACITY_EXCEEDED, Code.CAPACITY_POLICY, Code.CAPACITY_UNKNOWN})


@dataclass(slots=True)
class RequestDevices:
    """The devices of some nodes, held against one request."""

    claim: str  # `namespace/name`
    name: str  # `request` or `request/subrequest`
    request: PreparedRequest
    # Devices that the request means, by node
    meant: dict[str, dict[DeviceID, Content]] = field(default_factory=dict)
    # The others, with what keeps each of them away for good
    others: dict[Content, DeviceObstacle] = field(default_factory=dict)

    @property
    def wanted(self) -> int:
        """Devices that the request needs at least."""
        return 1 if self.request.everything else self.request.exact.count

    @property
    def most(self) -> int:
        """The most devices of one node."""
        return max(map(len, self.meant.values()), default=0)

    @property
    def shareable(self) -> bool:
        """Whether a device that it means serves several requests at once."""
        return any(one.shareable for there in self.meant.values() for one in there.values())

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The conjuncts of its selectors."""
        return tuple(
            part for _, _, one in self.request.selectors if one is not None for part in one.parts
        )

    def lacking(self, codes: Iterable[Code] = _CAPACITY) -> dict[Content, DeviceObstacle]:
        """Return the devices whose selectors match and that lack something else."""
        return {one: found for one, found in self.others.items() if found.code in codes}

    def values(self, constraint: int) -> Mapping[str, set[str]]:
        """Return the values that a constraint compares, by node."""
        return {
            node: {value for one in devices.values() for value in self.compared(constraint, one)}
            for node, devices in self.meant.items()
        }

    def compared(self, constraint: int, content: Content) -> Iterator[str]:
        """Yield the values of a device that a constraint compares."""
        try:
            found = self.request.value(constraint, content, _POSITIONS, 0)
        except FatalProblemError:
            return
        if found is not None and found[0] is not None:
            _, value = found[0]
            several = sorted(map(str, value)) if isinstance(value, frozenset) else [value]
            yield from (str(one).lower() if isinstance(one, bool) else str(one) for one in several)


class _Positions:
    def id(self, _position: int) -> DeviceID:
        return DeviceID("", "", "")


_POSITIONS = _Positions()


class MeantDevices:
    """The devices of nodes, held against each request of a pod as if all were free."""

    def __init__(self, best: BestCase) -> None:
        self._best = best
        self._found: dict[tuple[str, str], RequestDevices] = {}

    @property
    def requests(self) -> tuple[RequestDevices, ...]:
        """What was seen, by request."""
        return tuple(self._found.values())

    def look(self, node: NodeFact) -> bool:
        """Look at a node; tell whether each request finds enough devices there, taken alone."""
        best, enough = self._best, True
        cluster = best.emptied.cluster
        best.emptied.put(node.node)
        pools = cluster.node_pools(node.node.name)
        view = NodeView(pools, cluster.usage, cluster.profile)
        claims = best.claims(node)
        names = [one.key for one in claims]
        for request in cluster.prepared(claims).everything():
            check()
            key = (named(request.place, names), request.full_name)
            devices = self._found.get(key)
            if devices is None:
                devices = self._found[key] = RequestDevices(*key, request)
            here = _look(view, devices, request)
            shared = any(one.shareable for one in here.values())
            enough = enough and (len(here) >= devices.wanted or shared or "/" in devices.name)
        return enough


def _look(
    view: NodeView, found: RequestDevices, request: PreparedRequest
) -> dict[DeviceID, Content]:
    known = request.judged(found.claim)
    here = found.meant.setdefault(view.node.name, {})
    for position, content in enumerate(view.contents):
        judged = known.get(content)
        if judged is None:
            judged = known[content] = judge(request, content, found.claim)
        if judged.unsuited is not None:
            found.others[content] = judged.unsuited
        elif _is_here(view, position):
            here[view.id(position)] = content
    return here


def _is_here(view: NodeView, position: int) -> bool:
    try:
        return not view.per_device or view.on_node(position)
    except NodeSelectorError:
        return False
