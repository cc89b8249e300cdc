"""What keeps devices of one content from a request, whatever claims hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dragoman.allocation.facts.amounts import Amount, printed
from dragoman.allocation.facts.objects import NOTHING, Content
from dragoman.allocation.reasons.codes import Code
from dragoman.allocation.requests.expressions import Failure, hinted
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.rules.capacity import CapacityError, PolicyError

Details = Mapping[str, Any]


class Obstacle(NamedTuple):
    """What keeps one device from one request."""

    code: Code
    details: Details = NOTHING


def rejected(request: PreparedRequest, content: Content) -> Obstacle | None:
    """Find the first selector that does not match."""
    for origin, index, expression in request.selectors:
        if expression is None:
            return Obstacle(Code.CEL_ERROR, {"origin": origin, "index": index})
        result = expression.on(content)
        if result is True:
            continue
        details = {
            "origin": origin,
            "index": index,
            "expression": expression.text,
            "values": expression.values(content),
        }
        if isinstance(result, Failure):
            message = hinted(result.message) if request.profile.new else result.message
            return Obstacle(Code.CEL_ERROR, {**details, "message": message})
        return Obstacle(Code.SELECTOR_REJECTED, details)
    return None


def too_little(request: PreparedRequest, content: Content) -> Obstacle | None:
    """Find the first capacity that can never serve the request."""
    wanted = request.exact.capacity or {}
    try:
        consumed = request.consumption(content)
    except PolicyError as error:
        if error.amount is None:
            return Obstacle(Code.CAPACITY_UNKNOWN, {"capacity": error.name})
        details = {
            "capacity": error.name,
            "requested": str(wanted.get(error.name, "")),
            "rounded": str(error.amount),
        }
        return Obstacle(Code.CAPACITY_POLICY, details)
    except CapacityError as error:
        code = Code.CAPACITY_ERROR if request.profile.new else Code.CAPACITY_POLICY
        return Obstacle(code, {"message": str(error)})
    for name, value in consumed.items():
        have = content.capacity[name].value.nanos
        if value.nanos > have:
            return exceeded(request, content, name, value, have, ())
    return None


def exceeded(  # noqa: PLR0913, PLR0917 — each number is one that a person needs
    request: PreparedRequest,
    content: Content,
    name: str,
    rounded: Amount,
    free: int,
    holders: tuple[str, ...],
) -> Obstacle:
    """Describe a capacity of which too little is left."""
    return Obstacle(
        Code.CAPACITY_EXCEEDED,
        {
            "capacity": name,
            "requested": str((request.exact.capacity or {}).get(name, "")),
            "rounded": str(rounded),
            "free": printed(free, content.capacity[name].value),
            "value": str(content.capacity[name].value),
            "holders": holders,
        },
    )
