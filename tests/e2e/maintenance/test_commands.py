"""`hold`, `drain`, `taint` and their opposites on a real scheduler, with rules and without."""

import random
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from click.shell_completion import ShellComplete

from dragoman.cli import cli
from tests.e2e.maintenance.conftest import share
from tests.e2e.maintenance.ward import Site, Ward
from tests.e2e.toolkit.commands import dra
from tests.support.controlplane.api import wait_for


def test_a_drained_device_is_idle_and_comes_back(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    at = ward.placed("a", "b")
    user = next(name for name, where in at.items() if where == device)

    for command in ("drain", "hold", "undrain"):
        names = {device, device.rpartition("/")[0]}
        # A shell that waits too long for names offers none, on a busy machine too.
        offered = partial(offers, ward, command, names)
        wait_for(offered, 30, f"{names} to be offered for {command}")
    preview = ward.dra("drain", device, "--force", "--dry-run")
    assert preview.output.startswith(f"1 device, used by 1 claim, 1 pod: {ward.name}/{user}\n")
    assert ward.device_of(user) == device

    said = ward.dra("drain", device, "--force", "--reason", "XID 79", "--timeout", "60s").output
    assert f"{ward.name}/{user}: evicted" in said
    assert said.splitlines()[-1] == f"{device} is idle.   Back: kubectl dra undrain {device}"
    assert ward.api.find("pods", user, ward.name) is None

    listed = ward.dra("holds", "-o", "json").document["holds"]
    (held,) = [one for one in listed if one["driver"] == ward.driver]
    assert held["reason"] == "XID 79"
    assert held["author"] == "admin"
    assert held["kind"] == ("rule" if ward.rules else "claim")
    assert held["state"] == "held"

    ward.pod("late", node=0)
    assert not ward.device_of("late")
    ward.dra("undrain", device)
    began = time.monotonic()
    assert wait_for(lambda: ward.device_of("late")) == device
    print(f"a waiting pod was placed {time.monotonic() - began:.2f} s after undrain")


def offers(ward: Ward, command: str, names: set[str]) -> bool:
    """Whether a shell offers these names for a target of a command."""
    completer = ShellComplete(cli, {}, "kubectl dra", "_")
    given = [command, "--kubeconfig", str(ward.plane.kubeconfig)]
    return names <= {one.value for one in completer.get_completions(given, ward.driver)}


def test_no_new_pod_gets_a_drained_device(ward: Ward) -> None:
    """Create pods by chance, some waiting already, and end them; none may get the device."""
    device = ward.device()
    ward.pod("user", node=0)
    ward.pod("mate", node=0)
    ward.placed("user", "mate")
    for index in range(2):
        ward.pod(f"waiting-{index}", node=0)
    ward.dra("drain", device, "--force", "--timeout", "120s")
    chance = random.Random(ward.name)
    there = [f"waiting-{index}" for index in range(2)]
    for index in range(share(200, least=15)):
        name = f"try-{index}"
        node = chance.choice((0, 0, 1))
        ward.pod(name, node=node)
        there.append(name)
        if len(there) > 4:
            gone = there.pop(chance.randrange(len(there)))
            ward.api.delete("pods", gone, ward.name)
        assert [one for one in ward.holders(device) if "dragoman-hold" not in one] == []
    # The scheduler places a new pod on the other node, so it has seen the pods before it.
    for name in there:
        ward.api.delete("pods", name, ward.name)
    wait_for(lambda: not ward.holders(ward.device(1)), message="a device without claims")
    ward.pod("last", node=1)
    ward.placed("last")
    assert [one for one in ward.holders(device) if "dragoman-hold" not in one] == []


def test_a_pod_stays_until_its_budget_allows(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0, labels={"app": ward.name})
    ward.pod("b", node=0, labels={"app": ward.name})
    at = ward.placed("a", "b")
    user = next(name for name, where in at.items() if where == device)
    for name in at:
        ward.run(name)
    ward.budget("pdb", {"app": ward.name}, 0)

    preview = ward.dra("drain", device, "--force", "--dry-run", expected=(1,))
    refused = f"{ward.name}/{user} (PodDisruptionBudget pdb allows 0 disruptions now)"
    assert refused in preview.output
    said = ward.dra("drain", device, "--force", "--timeout", "8s", expected=(1,)).output
    assert f"{ward.name}/{user}: The disruption budget pdb needs 1 healthy pods" in said
    assert f"Continue: kubectl dra drain {device}" in said
    assert ward.device_of(user) == device

    drain = spawn(ward, device)
    until_refused(drain)
    ward.budget("pdb", {"app": ward.name}, 1)
    said, errors = drain.communicate(timeout=120)
    assert drain.returncode == 0, (said, errors)
    assert f"{ward.name}/{user}: evicted after" in said
    assert ward.api.find("pods", user, ward.name) is None


def test_without_eviction_budgets_are_not_asked(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0, labels={"app": ward.name})
    ward.pod("b", node=0, labels={"app": ward.name})
    for name in ward.placed("a", "b"):
        ward.run(name)
    ward.budget("pdb", {"app": ward.name}, 0)
    flags = ("--force", "--disable-eviction", "--timeout", "60s")
    assert "deleted" in ward.dra("drain", device, *flags).output


@pytest.mark.parametrize("more", [(), ("--disable-eviction",)])
def test_a_pod_without_a_controller_is_not_evicted_unasked(
    ward: Ward, more: tuple[str, ...]
) -> None:
    device = ward.device()
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    user = next(name for name, where in ward.placed("a", "b").items() if where == device)
    said = ward.dra("drain", device, *more, "--timeout", "60s", expected=(1,))
    assert said.output == ""
    assert f"nothing was changed: no controller replaces {ward.name}/{user}; --force" in said.errors
    assert ward.device_of(user) == device
    assert ward.dra("holds", "-o", "json").document["holds"] == []
    preview = ward.dra("drain", device, *more, "--dry-run", expected=(1,))
    assert f"refused without --force, because no controller replaces {ward.name}/{user}" in (
        preview.output
    )


def test_two_drains_of_one_device_at_once(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0)
    ward.pod("b", node=0)
    ward.placed("a", "b")
    drains = [spawn(ward, device) for _ in range(2)]
    for one in drains:
        out, errors = one.communicate(timeout=120)
        assert one.returncode == 0, (out, errors)
        assert f"{device} is idle." in out
    listed = ward.dra("holds", "-o", "json").document["holds"]
    assert len([one for one in listed if one["driver"] == ward.driver]) == 1


def test_an_interrupted_drain_says_what_is_so_and_continues(ward: Ward) -> None:
    device = ward.device()
    ward.pod("a", node=0, labels={"app": ward.name})
    ward.pod("b", node=0, labels={"app": ward.name})
    for name in ward.placed("a", "b"):
        ward.run(name)
    ward.budget("pdb", {"app": ward.name}, 0)
    drain = spawn(ward, device)
    until_refused(drain)
    drain.send_signal(signal.SIGINT)
    out, errors = drain.communicate(timeout=60)
    assert drain.returncode == 1, (out, errors)
    assert "Interrupted: 1 device in use" in out
    assert f"Continue: kubectl dra drain {device} --force\n" in out
    if ward.rules:
        assert "they stay out of service" in out
    ward.budget("pdb", {"app": ward.name}, 1)
    assert "is idle." in ward.dra("drain", device, "--force", "--timeout", "60s").output


def spawn(ward: Ward, device: str) -> subprocess.Popen[str]:
    """Run `drain` as a process of its own."""
    command = [
        *(sys.executable, "-u", "-m", "dragoman", "drain", device, "--force"),
        *("--timeout", "100s"),
        *("--kubeconfig", str(ward.plane.kubeconfig), "-n", ward.name),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_refused(drain: subprocess.Popen[str]) -> None:
    """Read what a drain prints until an eviction was refused."""
    assert drain.stdout is not None
    assert any("trying again" in line for line in drain.stdout)


def test_rights_are_checked_before_the_first_write(ward: Ward) -> None:
    reads = [
        {
            "apiGroups": ["", "resource.k8s.io", "policy"],
            "resources": ["*"],
            "verbs": ["get", "list", "watch"],
        }
    ]
    reader = ward.plane.user("maintenance-reader", reads)
    arguments = ("--kubeconfig", reader.kubeconfig, "-n", ward.name)
    said = dra("drain", ward.device(), *arguments, expected=(2,))
    assert "nothing was changed: you cannot create " in said.errors
    assert "create pods/eviction" in said.errors
    assert ward.dra("hold", ward.device(), "--dry-run").status == 0


def test_taints_come_and_go(ward: Ward) -> None:
    device = ward.device()
    if not ward.rules:
        said = ward.dra("taint", device, "example.com/xid=79:NoSchedule", expected=(2,))
        assert "DeviceTaintRules are not served" in said.errors
        return
    ward.dra("taint", device, "example.com/xid=79:NoSchedule", "--reason", "XID 79")
    rows = ward.dra("top", "nodes", "-o", "json").document
    assert rows["kind"] == "TopNodes"
    (found,) = ward.dra("who", device, "-o", "json").document["devices"]
    assert [one["key"] for one in found["taints"]] == ["example.com/xid"]
    said = ward.dra("undrain", device, expected=(1,))
    assert f"kubectl dra untaint {device} example.com/xid-" in said.output
    ward.dra("untaint", device, "example.com/xid-")
    (found,) = ward.dra("who", device, "-o", "json").document["devices"]
    assert found["state"] == "free"


@pytest.mark.parametrize("seed", range(share(200)))
def test_a_dry_run_is_what_then_happens(site: Site, seed: int) -> None:
    """Compare the preview with one pass of the drain, in a random world."""
    chance = random.Random(seed)
    ward = Ward(site.plane, nodes=chance.randint(1, 2), devices=chance.randint(1, 4))
    try:
        populate(ward, chance)
        target = chance.choice(
            [(ward.device(),), (f"{ward.driver}/{ward.nodes[0]}",), ("--node", ward.nodes[-1])]
        )
        force = ("--force", *("--disable-eviction",) * (chance.random() < 0.1))
        seen = ward.dra("drain", *target, *force, "--dry-run", "-o", "json", expected=(0, 1))
        preview = seen.document
        before = {one["metadata"]["name"] for one in ward.api.list("pods", ward.name)}
        stays = {one["pod"] for one in preview["pods"] if one["refusal"]}
        patience = "15s" if stays else "90s"
        ward.dra("drain", *target, *force, "--timeout", patience, "--yes", expected=(0, 1))
        gone = before - {one["metadata"]["name"] for one in ward.api.list("pods", ward.name)}
        evicted = {
            one["pod"].partition("/")[2]
            for one in preview["pods"]
            if one["evict"] and not one["refusal"]
        }
        assert gone == evicted, preview
        held = {
            f"{one['driver']}/{one['pool']}/{one['device']}"
            for one in ward.dra(
                "drain", *target, *force, "--dry-run", "-o", "json", expected=(0, 1)
            ).document["devices"]
            if one["held"]
        }
        if not stays and not preview["unusedClaims"]:
            assert len(held) == len(preview["devices"])
    finally:
        ward.clear()


def populate(ward: Ward, chance: random.Random) -> None:
    """Place pods, protect some by budgets, and hold a device now and then."""
    names = [f"pod-{index}" for index in range(chance.randint(0, 5))]
    for name in names:
        app = chance.choice(("x", "y"))
        ward.pod(name, node=chance.randrange(len(ward.nodes)), labels={"app": app})
    wait_for(lambda: all(decided(ward, name) for name in names), message="the scheduler")
    running = [name for name in names if ward.device_of(name)]
    for name in running:
        if chance.random() < 0.8:
            ward.run(name)
    for app in ("x", "y"):
        if chance.random() < 0.6:
            ward.budget(app, {"app": app}, chance.choice((0, 0, 1, 2)))
    for name in set(names) - set(running):  # they would get a device that is released
        ward.api.delete("pods", name, ward.name)


def decided(ward: Ward, name: str) -> bool:
    """Whether the scheduler has placed or refused a pod."""
    pod = ward.api.get("pods", name, ward.name)
    conditions = pod["status"].get("conditions") or ()
    return bool(ward.device_of(name)) or any(
        one["type"] == "PodScheduled" and one["status"] == "False" for one in conditions
    )
