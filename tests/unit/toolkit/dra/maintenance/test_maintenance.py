"""`drain`, `hold`, `taint` and `holds` on files: what they would do, and what they refuse."""

from pathlib import Path

import pytest

from dragoman.maintenance import manifests
from dragoman.maintenance.holds import HOLD_TAINT, HoldSelector, HoldTaint
from dragoman.maintenance.manifests import Origin
from dragoman_toolkit.dra.durations import Duration
from dragoman_toolkit.dra.maintenance.choosing import confirm
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.output import Unusable
from tests.support.dra import Desk, invoke
from tests.support.manifests import Json
from tests.support.worlds.inventory import DRIVER, claim, device, held, pod, pool
from tests.unit.dragoman.maintenance.builders import B

GPU = f"{DRIVER}/n/a"


def managed(one: Json) -> Json:
    """Let a Job own a pod."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1", "controller": True}
    return {**one, "metadata": {**one["metadata"], "ownerReferences": [owner]}}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    trainer = managed(pod("trainer", "ml", claims={"gpu": "shared"}, node="n"))
    spare = device("b", attributes={"uuid": {"string": "GPU-7"}})
    return Desk(
        tmp_path,
        pool("n", ["a", spare]),
        held(claim("shared", "ml"), ("n", "a"), pods=[trainer]),
        trainer,
        manifests.rule_manifest(
            "resource.k8s.io/v1", HoldSelector(*B), HOLD_TAINT, Origin("XID 79", "ann")
        ),
    )


def test_a_dry_run_counts_and_names(desk: Desk) -> None:
    printed = desk.run("drain", GPU, "--dry-run")
    assert printed == "1 device, used by 1 claim, 1 pod: ml/trainer\n"
    found = desk.document("drain", GPU, "--dry-run")
    assert found["pods"] == [{"pod": "ml/trainer", "evict": True, "refusal": ""}]
    assert (found["with"], found["rules"]) == ("rule", 1)


@pytest.fixture
def bare(tmp_path: Path) -> Desk:
    """Two pods on a device, one without a controller."""
    shared = claim("shared", "ml")
    alone = pod("alone", "ml", claims={"gpu": "shared"}, node="n")
    trainer = managed(pod("trainer", "ml", claims={"gpu": "shared"}, node="n"))
    allocated = held(shared, ("n", "a"), pods=[alone, trainer])
    return Desk(tmp_path, pool("n", ["a"]), allocated, alone, trainer)


def test_a_dry_run_says_which_pods_are_refused_without_force(bare: Desk) -> None:
    printed = bare.run("drain", GPU, "--dry-run", status=1).splitlines()
    assert printed == [
        "1 device, used by 1 claim, 2 pods: ml/alone, ml/trainer",
        "refused without --force, because no controller replaces ml/alone",
    ]
    found = bare.document("drain", GPU, "--dry-run", status=1)
    assert found["pods"] == [
        {
            "pod": "ml/alone",
            "evict": False,
            "refusal": "no controller replaces it: --force evicts it",
        },
        {"pod": "ml/trainer", "evict": True, "refusal": ""},
    ]
    assert found["unmanaged"] == ["ml/alone"]


@pytest.mark.parametrize("more", [[], ["--disable-eviction"]])
def test_force_evicts_pods_without_a_controller(bare: Desk, more: list[str]) -> None:
    found = bare.document("drain", GPU, "--dry-run", "--force", *more)
    assert [one["evict"] for one in found["pods"]] == [True, True]
    printed = bare.run("drain", GPU, "--dry-run", "--force", *more)
    assert "no controller replaces ml/alone" in printed
    assert bare.document("drain", GPU, "--dry-run", *more, status=1)["pods"][0]["refusal"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [(["--force"], True), (["--force", "--disable-eviction"], False), ([], False)],
)
def test_force_without_a_pod_that_needs_it_names_the_other_flag(
    desk: Desk, flags: list[str], *, told: bool
) -> None:
    result = invoke("drain", GPU, "--dry-run", *flags, "--snapshot", desk.file)
    assert ("--disable-eviction deletes pods" in result.stderr) == told


def test_a_hold_leaves_pods_alone(desk: Desk) -> None:
    found = desk.document("hold", GPU, "--dry-run", "--with", "claim")
    assert [one["evict"] for one in found["pods"]] == [False]
    assert (found["with"], found["rules"]) == ("claim", 0)


def test_what_is_held_already_is_said(desk: Desk) -> None:
    printed = desk.run("drain", f"{DRIVER}/n", "--dry-run").splitlines()
    assert printed == [
        "2 devices, used by 1 claim, 1 pod: ml/trainer",
        f"held already: {DRIVER}/n/b",
    ]


def test_holds_say_who_and_why(desk: Desk) -> None:
    (line,) = desk.run("holds").splitlines()[1:]
    assert [part.strip() for part in line.split("  ") if part] == [
        f"{DRIVER}/n/b",
        "rule",
        "dragoman.dev/maintenance:NoSchedule",
        "held",
        "60m",
        "ann",
        "XID 79",
    ]
    (found,) = desk.document("holds")["holds"]
    assert (found["author"], found["managed"]) == ("ann", True)


def test_no_holds_is_an_answer(tmp_path: Path) -> None:
    assert Desk(tmp_path, pool("n", ["a"])).run("holds") == "No device is out of service.\n"


def test_undrain_names_the_object(desk: Desk) -> None:
    printed = desk.run("undrain", f"{DRIVER}/n/b", "--dry-run")
    assert printed.startswith("devicetaintrule.resource.k8s.io/dragoman-b-")
    assert printed.endswith(" would be deleted\n")
    found = desk.document("unhold", f"{DRIVER}/n/b", "--dry-run")
    assert [one["devices"] for one in found["deleted"]] == [f"{DRIVER}/n/b"]
    assert desk.run("undrain", GPU, "--dry-run").startswith("Nothing to delete")


def test_untaint_leaves_holds_and_says_so(desk: Desk) -> None:
    found = desk.document("untaint", f"{DRIVER}/n/b", "k-", "--dry-run", status=1)
    assert [one["remedy"] for one in found["kept"]] == [f"kubectl dra undrain {DRIVER}/n/b"]


def test_a_taint_that_deletes_pods_says_so(desk: Desk) -> None:
    printed = desk.run("taint", GPU, "example.com/xid=79:NoExecute", "--dry-run")
    assert "NoExecute deletes 1 pod without asking PodDisruptionBudgets" in printed
    found = desk.document("taint", GPU, "example.com/xid=79:NoSchedule", "--dry-run")
    assert (found["evicted"], found["taint"]) == ([], "example.com/xid=79:NoSchedule")


def test_a_taint_with_another_value_is_not_hidden_by_the_rule_that_is_there(
    tmp_path: Path,
) -> None:
    taint = HoldTaint("example.com/xid", "79")
    there = manifests.rule_manifest("resource.k8s.io/v1", HoldSelector(*B), taint, Origin())
    desk = Desk(tmp_path, pool("n", ["a", "b"]), there)
    result = invoke(
        "taint",
        f"{DRIVER}/n/b",
        "example.com/xid=80:NoSchedule",
        "--dry-run",
        "--snapshot",
        desk.file,
    )
    assert result.exit_code == 2
    assert (
        "sets example.com/xid=79:NoSchedule already; remove it first: "
        f"kubectl dra untaint {DRIVER}/n/b example.com/xid:NoSchedule-"
    ) in result.stderr
    desk.run("taint", f"{DRIVER}/n/b", f"{taint}", "--dry-run")
    desk.run("taint", f"{DRIVER}/n/a", "example.com/xid=80:NoSchedule", "--dry-run")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("drain", "--dry-run"), "choose devices with --node or --where"),
        (("drain", "gpu-3", "--dry-run"), "expected driver/pool/device"),
        (("drain", f"{DRIVER}/m", "--dry-run"), f"pools of {DRIVER}: n"),
        (("drain", "--node", "x", "--dry-run"), "nodes with devices: n"),
        (("drain", "--where", "device.x ==", "--dry-run"), "expression 'device.x =='"),
        (
            ("drain", "--where", f'device.attributes["{DRIVER}"].x == 1', "--dry-run"),
            "the expression fails, as on",
        ),
        (("drain", GPU), "a snapshot cannot be changed: add --dry-run"),
        (("drain", GPU, "--rate", "10", "--dry-run"), "expected a rate such as 10/m"),
        (("drain", GPU, "--timeout", "soon", "--dry-run"), "expected a duration such as 90s"),
        (("taint", GPU, "--dry-run"), "give one taint as KEY[=VALUE]:EFFECT"),
        (("taint", GPU, "k:Never", "--dry-run"), "with effect NoSchedule, NoExecute or None"),
    ],
)
def test_wrong_input_says_what_is_expected(
    desk: Desk, arguments: tuple[str, ...], said: str
) -> None:
    result = invoke(*arguments, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert said in result.stderr


def test_taints_need_rules(tmp_path: Path) -> None:
    file = tmp_path / "cluster.jsonl"
    desk = Desk(tmp_path, pool("n", ["a"]))
    lines = desk.file.read_text().replace('"devicetaintrules",', "")
    file.write_text(lines)
    for arguments in (("taint", GPU, "k:NoSchedule"), ("drain", GPU, "--with", "rule")):
        result = invoke(*arguments, "--dry-run", "--snapshot", file)
        assert result.exit_code == 2
        assert "DeviceTaintRules are not served" in result.stderr
    done = invoke("drain", GPU, "--dry-run", "--snapshot", file, "-o", "json")
    assert '"with": "claim"' in done.stdout


def test_many_devices_are_not_taken_without_an_answer() -> None:
    confirm(8, WantedDevices(()), "drain")
    confirm(9, WantedDevices((), yes=True), "drain")
    with pytest.raises(Unusable, match="drain 9 devices"):
        confirm(9, WantedDevices(()), "drain")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("5", 5.0), ("0s", 0.0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds
