"""Why devices that serve each request alone do not serve all requests together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dragoman.allocation.codes import Code, Reason
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared, TopLevelRequest
from dragoman.allocation.search.view import NodeView

Usable = Mapping[PreparedRequest, Sequence[int]]


def combination(
    prepared: Prepared, view: NodeView, usable: Usable, names: Sequence[str]
) -> Iterator[Reason]:
    """Yield constraints that no choice of devices satisfies, then what has to fit together.

    Args:
        prepared: The claims.
        view: The node.
        usable: The devices that serve each request alone.
        names: Of the claims.
    """
    values: dict[str, dict[str, int]] = {}
    for index, (claim, requests) in enumerate(zip(prepared.claims, prepared.requests, strict=True)):
        for number, constraint in enumerate(claim.constraints):
            counted = _Values(number, requests, view, usable)
            seen = values.setdefault(constraint.attribute, {})
            seen.update(counted.shown)
            if not counted.possible(distinct=constraint.match_attribute is None):
                details = {
                    "index": number,
                    "attribute": constraint.attribute,
                    "kind": constraint.kind,
                    "wanted": counted.wanted,
                    "values": counted.shown,
                }
                yield Reason(Code.CONSTRAINT_FAILED, names[index], details=details)
    everything = list(prepared.everything())
    yield Reason(
        Code.NO_COMBINATION,
        details={
            "constraints": tuple(values),
            "counts": tuple(
                f"{one.full_name}={'All' if one.everything else one.exact.count}"
                for one in everything
            ),
            "usable": tuple(f"{one.full_name}={len(usable[one])}" for one in everything),
            "devices": len({position for one in everything for position in usable[one]}),
            "values": values,
        },
    )


class _Values:
    """The values of one constraint's attribute on the devices that its requests may get.

    Attributes:
        wanted: How many devices the constraint compares at least.
    """

    def __init__(
        self, number: int, requests: Sequence[TopLevelRequest], view: NodeView, usable: Usable
    ) -> None:
        self._number = number
        self._view = view
        self._usable = usable
        # A request that can do with a subrequest outside of the constraint is not bound by it.
        self._bound = [
            top.alternatives
            for top in requests
            if all(number in one.constraints for one in top.alternatives)
        ]
        self._by_request = {
            one: self._count(one) for alternatives in self._bound for one in alternatives
        }
        self.wanted = sum(
            min(self._least(one) for one in alternatives) for alternatives in self._bound
        )

    @property
    def shown(self) -> dict[str, int]:
        """Devices by value, in the order of the values."""
        counts: Counter[str] = Counter()
        for position in {position for one in self._by_request for position in self._usable[one]}:
            counts.update(self._of(next(iter(self._by_request)), position))
        return dict(sorted(counts.items()))

    def possible(self, *, distinct: bool) -> bool:
        """Tell whether values alone let the requests be served."""
        if distinct:
            different = {value for counts in self._by_request.values() for value in counts}
            return len(different) >= self.wanted
        values = {value for counts in self._by_request.values() for value in counts}
        return not self._bound or any(
            all(
                any(self._by_request[one][value] >= self._least(one) for one in alternatives)
                for alternatives in self._bound
            )
            for value in values
        )

    def _least(self, request: PreparedRequest) -> int:
        return len(self._usable[request]) if request.everything else request.exact.count

    def _count(self, request: PreparedRequest) -> Counter[str]:
        counts: Counter[str] = Counter()
        for position in self._usable[request]:
            counts.update(self._of(request, position))
        return counts

    def _of(self, request: PreparedRequest, position: int) -> Sequence[str]:
        """Return the values of a device as text; a list attribute has several."""
        content = self._view.contents[position]
        try:
            found = request.value(self._number, content, self._view, position)
        except FatalProblemError:
            return ()
        if found is None or found[0] is None:
            return ("no value",)
        kind, value = found[0]
        if isinstance(value, frozenset):
            return sorted(map(str, value))
        return (str(value).lower() if kind == "bool" else str(value) if kind else "no value",)
