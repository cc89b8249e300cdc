"""What ResourceQuota charges for a claim.

Source: KEP-4381, the quota evaluator of ResourceClaims: each claim is charged by its spec from its
creation on, whether or not it is allocated.
"""

from collections import Counter

import dragoman.allocation as api
from dragoman.model.requests import ExactRequest

ALL_DEVICES = 32
"""What a request with allocationMode All is charged: the limit of one claim."""


def charges(claim: api.Claim) -> dict[str, int]:
    """Return how many devices of each class a quota charges for a claim."""
    found: Counter[str] = Counter()
    for request in claim.spec.requests:
        if request.exactly is not None:
            found[request.exactly.class_name] += _devices(request.exactly)
        largest: dict[str, int] = {}
        for alternative in request.first_available:
            name = alternative.class_name
            largest[name] = max(largest.get(name, 0), _devices(alternative))
        found.update(largest)
    return dict(found)


def _devices(request: ExactRequest) -> int:
    return ALL_DEVICES if request.mode == "All" else request.count or 1
