"""The recording rules of devices, evaluated by promtool: sums never exceed the devices."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.controllers.explain.counts import DeviceInfo, limited
from dragoman.model.deviceid import DeviceID
from tests.charts.rendering import CHART, Values
from tests.charts.test_monitoring import groups_of, promtool, run

__all__ = ["promtool"]
RULES = yaml.safe_load((CHART / "files/device-rules.yaml").read_text())


def written(folder: Path, join: str) -> Path:
    """Write the rules as the chart renders them with `metrics.rulesJoin`."""
    values: Values = {"metrics": {"devices": True, "rules": True, "rulesJoin": join}}
    names = {group["name"] for group in RULES["groups"]}
    groups = [group for group in groups_of(values) if group["name"] in names]
    assert len(groups) == len(names) == 2
    file = folder / f"{join}.yaml"
    file.write_text(yaml.safe_dump({"groups": groups}))
    return file


def util(
    device: str, pod: str, values: str, name: str = "DCGM_FI_DEV_GPU_UTIL", more: str = ""
) -> Any:
    labels = (
        f'dra_driver_name="gpu.nvidia.com", dra_pool_name="n", dra_device_name="{device}", '
        f'pod="{pod}"{more}'
    )
    return {"series": f"{name}{{{labels}}}", "values": values}


def info(
    device: str, claim: str, pod: str, values: str = "1x200", namespace: str = 'namespace="ml"'
) -> Any:
    labels = (
        f'driver="gpu.nvidia.com", pool="n", device="{device}", node="n", {namespace}, '
        f'claim="{claim}", class="gpu", request="r", pod="{pod}"'
    )
    return {"series": f"dragoman_device_info{{{labels}}}", "values": values}


def claims(**values: float) -> list[Any]:
    name = "dragoman:claim_utilization:ratio"
    return [
        {"labels": f'{name}{{namespace="ml", claim="{claim}", class="gpu"}}', "value": value}
        for claim, value in values.items()
    ]


def busy(value: float) -> list[Any]:
    return [{"labels": 'dragoman:namespace_devices:busy{namespace="ml"}', "value": value}]


WORLDS: dict[str, tuple[list[Any], str, list[Any]]] = {
    "three claims share a device": (
        [
            *(info("g0", claim, f"pod-{claim}") for claim in "abc"),
            *(util("g0", f"pod-{claim}", "60x200") for claim in "abc"),
        ],
        "dragoman:namespace_devices:busy",
        busy(0.6),
    ),
    "two containers of a pod": (
        [
            info("g0", "a", "p"),
            util("g0", "p", "80x200", more=', container="one"'),
            util("g0", "p", "80x200", more=', container="two"'),
        ],
        "dragoman:namespace_devices:busy",
        busy(0.8),
    ),
    "several pods of a claim": (
        [info("g0", "a", "p"), info("g0", "a", "q"), util("g0", "p", "50x200")],
        "dragoman:namespace_devices:busy",
        busy(0.5),
    ),
    "namespaces that Prometheus renamed": (
        [
            info("g0", "a", "p", namespace='namespace="dragoman-system", exported_namespace="ml"'),
            util("g0", "p", "50x200"),
        ],
        "dragoman:claim_utilization:ratio",
        claims(a=0.5),
    ),
    "a MIG device": (
        [
            info("g0-mig-1", "a", "p"),
            util(
                "g0-mig-1",
                "p",
                "0.25x200",
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                ', GPU_I_PROFILE="1g.5gb"',
            ),
        ],
        "dragoman:claim_utilization:ratio",
        claims(a=0.25),
    ),
    "a device that changed its claim": (
        [
            info("g0", "a", "p", "1x60 stale"),
            info("g0", "b", "q", "_x61 1x139"),
            util("g0", "q", "40x200"),
        ],
        "dragoman:claim_utilization:ratio",
        claims(b=0.4),
    ),
    "an exporter that started again": (
        [info("g0", "a", "p"), util("g0", "p", "40x50 stale _x5 70x145")],
        "dragoman:claim_utilization:ratio",
        claims(a=0.7),
    ),
    "held and idle": (
        [info("g0", "a", "p"), util("g0", "p", "0x200")],
        "dragoman:claim_idle:bool",
        [
            {
                "labels": 'dragoman:claim_idle:bool{namespace="ml", claim="a", class="gpu"}',
                "value": 1,
            }
        ],
    ),
}


def plain(uuid: str, pod: str, values: str, more: str = "") -> Any:
    """Return a series of an exporter that knows nothing of DRA."""
    return {"series": f'DCGM_FI_DEV_GPU_UTIL{{UUID="{uuid}", pod="{pod}"{more}}}', "values": values}


def known(device: str, claim: str, pod: str, uuid: str) -> Any:
    found = info(device, claim, pod)
    return {**found, "series": found["series"].replace("}", f', uuid="{uuid}"}}')}


BY_UUID: dict[str, tuple[list[Any], str, list[Any]]] = {
    "two claims share a device, one in two containers": (
        [
            *(known("g0", claim, f"pod-{claim}", "GPU-0") for claim in "ab"),
            plain("GPU-0", "pod-a", "60x200", ', container="one"'),
            plain("GPU-0", "pod-a", "60x200", ', container="two"'),
            plain("GPU-0", "pod-b", "60x200"),
            plain("GPU-of-a-plugin", "other", "90x200"),
        ],
        "dragoman:namespace_devices:busy",
        busy(0.6),
    ),
    "each device by its UUID": (
        [
            known("g0", "a", "p", "GPU-0"),
            known("g1", "b", "q", "GPU-1"),
            plain("GPU-0", "p", "10x200"),
            plain("GPU-1", "q", "70x200"),
        ],
        "dragoman:claim_utilization:ratio",
        claims(a=0.1, b=0.7),
    ),
}
OF_LEADERS = 'dragoman_device_seconds_total{{namespace="dragoman-system", pod="{}", {}}}'
USED = 'exported_namespace="ml", class="gpu", driver="d"'
SECONDS: dict[str, tuple[list[Any], str, list[Any]]] = {
    # The second leader goes on three minutes after the first one's last value.
    "leaders that come and go": (
        [
            {"series": OF_LEADERS.format("a", USED), "values": "1000+120x60 stale"},
            {"series": OF_LEADERS.format("b", USED), "values": "_x63 8560+120x140"},
        ],
        "increase(dragoman:device_seconds:total[110m])",
        [{"labels": '{namespace="ml", class="gpu", driver="d"}', "value": 120 * 110}],
    ),
}


@pytest.mark.parametrize(
    ("join", "worlds"), [("device", WORLDS), ("uuid", BY_UUID), ("device", SECONDS)]
)
def test_rules_count_each_device_once(
    promtool: str, tmp_path: Path, join: str, worlds: dict[str, tuple[list[Any], str, list[Any]]]
) -> None:
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [{"expr": query, "eval_time": "120m", "exp_samples": expected}],
        }
        for name, (series, query, expected) in worlds.items()
    ]
    file = tmp_path / "tests.yaml"
    rules = written(tmp_path, join)
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": tests}))
    assert "SUCCESS" in run(promtool, "test", "rules", str(file))


@pytest.mark.parametrize(("limit", "left", "dropped"), [(10_001, 10_001, 0), (10_000, 1, 10_000)])
def test_series_of_the_largest_namespaces_are_left_out(limit: int, left: int, dropped: int) -> None:
    infos = [DeviceInfo(DeviceID("d", "p", str(n)), namespace="big") for n in range(10_000)]
    infos.append(DeviceInfo(DeviceID("d", "p", "x"), namespace="small"))
    kept, out = limited(infos, limit)
    assert (len(kept), out) == (left, dropped)
