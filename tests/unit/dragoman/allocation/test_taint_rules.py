"""Which devices a DeviceTaintRule selects: the one answer for evictions, reports and commands."""

import pytest

from dragoman.model.taints import parse_taint_rule

TAINT = {"key": "k", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("selector", "pool_concerned", "device_selected"),
    [
        pytest.param(None, True, False, id="no selector"),
        pytest.param({}, True, True, id="empty"),
        pytest.param({"driver": "d"}, True, True, id="driver"),
        pytest.param({"driver": "d", "pool": "p", "device": "gpu0"}, True, True, id="device"),
        pytest.param({"driver": "d", "pool": "p", "device": "gpu1"}, True, False, id="neighbour"),
        pytest.param({"device": "gpu0"}, True, True, id="device of any driver"),
        pytest.param({"pool": "other"}, False, False, id="other pool"),
        pytest.param({"driver": "other"}, False, False, id="other driver"),
    ],
)
def test_a_rule_selects_devices_by_all_that_its_selector_names(
    selector: dict[str, str] | None, pool_concerned: bool, device_selected: bool
) -> None:
    spec = {"taint": TAINT, "deviceSelector": selector}
    rule = parse_taint_rule({"metadata": {"name": "r"}, "spec": spec})
    assert rule.concerns("d", "p") is pool_concerned
    assert rule.selects(("d", "p", "gpu0")) is device_selected
