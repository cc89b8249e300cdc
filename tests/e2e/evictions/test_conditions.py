"""The condition of rules and the writes of evictions: the same with the stock controller."""

import random
import time
from collections import Counter
from contextlib import suppress

import pytest

from dragoman.evictions.conditions import PERIOD
from tests.e2e.evictions.harness import EVICTED, KEPT, Devices, taint
from tests.support.controlplane.api import Json, wait_for

PENDING = {"status": "True", "reason": "PodsPendingEviction"}
PREVIEW_END = (
    " if the effect was NoExecute. This information will not be updated again. "
    "Recreate the DeviceTaintRule to trigger an update."
)
SLOW = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}


def test_a_rule_says_what_it_would_evict_and_then_what_it_evicts(devices: Devices) -> None:
    devices.publish("gpu-0", "gpu-1")
    devices.pod("a", devices.result("gpu-0"))
    devices.pod("b", devices.result("gpu-1", SLOW))
    devices.seen()
    devices.rule("None")
    found = devices.condition_with(reason="NoEffect")
    assert found["message"] == (
        "2 published devices selected. 2 allocated devices selected. "
        "2 pods would be evicted in 1 namespace" + PREVIEW_END
    )
    devices.rule("NoExecute")
    found = devices.condition_with(**PENDING)
    # The first pod may be gone already when the condition is computed.
    assert found["message"].split(" need")[0] in {"2 pods", "1 pod"}
    devices.evicted("a")
    found = devices.condition_with(
        **PENDING,
        message="1 pod needs to be evicted in 1 namespace. "
        "1 pod evicted since starting the controller.",
    )
    devices.api.delete("pods", "b", devices.namespace, gracePeriodSeconds=0)


def test_a_rule_that_evicted_all_is_completed(devices: Devices) -> None:
    devices.publish("gpu-0", "gpu-1")
    for name, device in (("a", "gpu-0"), ("b", "gpu-1")):
        devices.pod(name, devices.result(device))
    devices.rule()
    devices.evicted("a", "b")
    message = "2 pods evicted since starting the controller."
    devices.condition_with(status="False", reason="Completed", message=message)


@pytest.mark.parametrize(
    ("effect", "reason", "message"),
    [
        ("NoExecute", "NotStarted", ""),
        ("NoSchedule", "OtherEffect", "Eviction only happens for the NoExecute effect."),
        (
            "None",
            "NoEffect",
            "1 published device selected. 0 allocated devices selected. "
            "0 pods would be evicted in 0 different namespaces" + PREVIEW_END,
        ),
    ],
)
def test_a_rule_without_pods(devices: Devices, effect: str, reason: str, message: str) -> None:
    devices.publish()
    devices.seen()
    devices.rule(effect)
    found = devices.condition_with(reason=reason)
    assert found == {"status": "False", "reason": reason, "message": message}


def test_each_eviction_takes_the_same_four_requests(devices: Devices) -> None:
    devices.publish()
    devices.claim("shared")
    pods = [devices.bare_pod(f"pod-{index}", "shared") for index in range(20)]
    devices.reserve("shared", *pods)
    audit = devices.plane.audit
    mark, began = audit.mark(), time.monotonic()
    devices.rule()
    devices.evicted(*(one["metadata"]["name"] for one in pods))

    def counts() -> Counter[str]:
        return audit.counts(devices.user, mark, namespace=devices.namespace)

    with suppress(TimeoutError):  # the comparison says more
        wait_for(lambda: counts()["create events"] >= 20, 30)
    audit.settled(devices.user, 1)
    periods = (time.monotonic() - began) / PERIOD
    assert counts() == dict.fromkeys(("patch pods/status", "delete pods", "create events"), 20)
    rule = audit.counts(devices.user, mark, resource="devicetaintrules/status")
    assert rule["patch devicetaintrules/status"] <= 2 + periods


def test_a_dry_run_is_what_happens_then(devices: Devices) -> None:
    """Random pods, tolerations and shared claims; one rule first without and then with effect."""
    chance = random.Random(devices.namespace)
    names = [f"gpu-{index}" for index in range(6)]
    devices.publish(*names, {"name": "gpu-broken", "taints": [taint()]})
    always = {"operator": "Exists", "effect": "NoExecute"}
    tolerations: list[list[Json]] = [[], [], [SLOW], [{**SLOW, "key": "other"}], [always]]
    for index in range(12):
        results = [
            devices.result(device, *chance.choice(tolerations))
            for device in chance.sample(names, chance.randint(1, 2))
        ]
        devices.pod(f"pod-{index}", *results)
    devices.seen()
    devices.rule("None", device=(chosen := chance.choice(names)))
    would = int(devices.condition_with(reason="NoEffect")["message"].split(". ")[2].split()[0])
    devices.rule("NoExecute", device=chosen)
    found = devices.condition_with()
    wanted = f"{would} pod needs" if would == 1 else f"{would} pods need"
    limited = sum(
        1
        for one in devices.api.list("resourceclaims", devices.namespace)
        if any(
            result["device"] == chosen and result.get("tolerations") == [SLOW]
            for result in one["status"]["allocation"]["devices"]["results"]
        )
    )

    def evicted() -> int:
        return Counter(devices.is_evicted(f"pod-{index}") for index in range(12))[True]

    with suppress(TimeoutError):  # the comparison says more
        wait_for(lambda: evicted() + limited >= would, EVICTED)
    time.sleep(KEPT)
    assert evicted() + limited == would
    # All evictions may be done when the first condition is read.
    begun = {"PodsPendingEviction"} if limited else {"PodsPendingEviction", "Completed"}
    assert found["reason"] in (begun if would else {"NotStarted"})
    assert wanted in found["message"] or evicted() or not would
