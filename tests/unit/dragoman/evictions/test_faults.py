"""Where the stock controller evicts otherwise than tolerations say, by release."""

import pytest

from dragoman.evictions.faults import EvictionFault, stock_faults
from dragoman.evictions.pools import Pools
from dragoman.evictions.rules import ActiveRules
from dragoman.model.claim import Claim
from dragoman_base.versions import Release
from tests.unit.dragoman.claims.objects import claim
from tests.unit.dragoman.evictions.builders import a_rule, holding, result

OVERFLOWING = 10**10


@pytest.mark.parametrize(
    ("minor", "toleration", "faults"),
    [
        (37, {"operator": "Exists"}, {EvictionFault.EFFECT}),
        (38, {"operator": "Exists"}, set()),
        (38, {"operator": "Exists", "effect": "NoSchedule"}, set()),
        (37, {"operator": "Exists", "effect": "NoExecute"}, set()),
        (38, {"operator": "Exists", "tolerationSeconds": OVERFLOWING}, {EvictionFault.OVERFLOW}),
    ],
)
def test_a_toleration_without_effect_is_ignored_up_to_1_37(
    minor: int, toleration: dict[str, object], faults: set[EvictionFault]
) -> None:
    held = Claim.parse(holding(claim("claim"), result("gpu-0", toleration)).document)
    found = stock_faults(held, Pools(()), ActiveRules([a_rule()]), Release((1, minor)))
    assert found == faults
