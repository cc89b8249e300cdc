"""What `explain` says of pods that have devices and a node, and do not run."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import manifests as objects
from tests.support.dra import Desk
from tests.support.worlds.inventory import DRIVER, claim, device_class, held, pod, pool

Json = dict[str, Any]
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T11:00:00Z"}


def container(**state: Any) -> Json:
    return {"containerStatuses": [{"name": "main", "state": state}]}


CREATING = container(waiting={"reason": "ContainerCreating"})


def plugin(node: str, *, ready: bool = True, **status: Any) -> Json:
    """Return the pod of a driver on a node."""
    made = pod(f"plugin-{node}", node=node)
    made["metadata"]["ownerReferences"] = [
        {
            "kind": "DaemonSet",
            "name": "plugin",
            "uid": "ds",
            "apiVersion": "apps/v1",
            "controller": True,
        }
    ]
    registry = {"hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}
    own = {"hostPath": {"path": f"/var/lib/kubelet/plugins/{DRIVER}"}}
    made["spec"]["volumes"] = [registry, own]
    state = "True" if ready else "False"
    made["status"] = {"phase": "Running", "conditions": [{**READY, "status": state}], **status}
    return made


def desk(folder: Path, status: Json, *more: Json, node: Json | None = None, **pods: Any) -> Desk:
    """Return a cluster in which a pod has a device of node n."""
    user = pod("user", claims={"gpu": "claim"}, node="n", **pods)
    user["status"] = {"phase": "Pending", "startTime": "2026-11-22T11:00:00Z", **status}
    return Desk(
        folder,
        *(node or objects.node("n"), objects.node("m"), device_class(), pool("n", 1)),
        *(pool("m", 1), held(claim(), ("n", "device-0"), pods=[user]), user, *more),
    )


def said(desk: Desk, status: int = 1) -> tuple[list[str], str]:
    """Return codes and text of the answer."""
    document = desk.document("explain", "pod", "ns/user", status=status)
    text = desk.run("explain", "pod", "ns/user", status=status)
    return [one["code"] for one in document["obstacles"]], text


def test_the_plugin_of_the_driver_is_not_on_the_node(tmp_path: Path) -> None:
    codes, text = said(desk(tmp_path, CREATING, plugin("m")))
    assert codes == ["PluginMissing"]
    assert f"no plugin pod of driver {DRIVER} runs on n" in text
    assert "kubectl describe daemonset -n ns plugin" in text
    assert text.startswith("Pod ns/user has its devices on node n, but does not run:")


def test_the_plugin_of_the_driver_is_not_ready(tmp_path: Path) -> None:
    crash = container(waiting={"reason": "CrashLoopBackOff"})
    codes, text = said(desk(tmp_path, CREATING, plugin("n", ready=False, **crash)))
    assert codes == ["PluginNotReady"]
    assert "plugin pod ns/plugin-n" in text
    assert "(CrashLoopBackOff): kubectl logs -n ns plugin-n" in text


def test_all_plugins_are_ready(tmp_path: Path) -> None:
    codes, text = said(desk(tmp_path, CREATING, plugin("n")))
    assert codes == ["ContainerWaits"]
    assert "kubectl describe pod -n ns user" in text


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (
            {"waiting": {"reason": "RunContainerError", "message": "unresolvable CDI devices x=y"}},
            "CDIUnresolvable",
            "unresolvable CDI devices x=y",
        ),
        (
            {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
            "ContainerWaits",
            "devices are not the cause",
        ),
        (
            {"waiting": {"reason": "CrashLoopBackOff"}},
            "ContainerWaits",
            "kubectl logs -n ns user -c main --previous",
        ),
    ],
)
def test_a_container_waits_for_something_else(
    tmp_path: Path, state: Json, code: str, words: str
) -> None:
    codes, text = said(desk(tmp_path, container(**state), plugin("n")))
    assert codes == [code]
    assert words in text


def test_an_init_container_waits(tmp_path: Path) -> None:
    waiting = {"reason": "CreateContainerError", "message": "CDI device injection failed"}
    status = {"initContainerStatuses": [{"name": "prepare", "state": {"waiting": waiting}}]}
    codes, text = said(desk(tmp_path, status, plugin("n")))
    assert codes == ["CDIUnresolvable"]
    assert "container prepare" in text


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ({"exitCode": 255, "reason": "Unknown"}, "does not come back"),
        ({"exitCode": 137, "reason": "ContainerStatusUnknown"}, "does not come back"),
        ({"exitCode": 1, "reason": "Error"}, "kubectl logs -n ns user -c main"),
    ],
)
def test_a_running_pod_has_a_container_that_ended(tmp_path: Path, ended: Json, words: str) -> None:
    ended["finishedAt"] = "2026-11-22T11:30:00Z"
    codes, text = said(desk(tmp_path, {"phase": "Running", **container(terminated=ended)}))
    assert codes == ["ContainerEnded"]
    assert words in text


def test_a_container_that_has_done_its_work_is_nothing(tmp_path: Path) -> None:
    done = container(terminated={"exitCode": 0, "reason": "Completed"})
    codes, text = said(desk(tmp_path, {"phase": "Running", **done}), status=0)
    assert codes == []
    assert "has its devices on node n." in text


def test_the_node_does_not_answer(tmp_path: Path) -> None:
    node = objects.node("n")
    gone = {**READY, "status": "Unknown"}
    node["status"] = {**node.get("status", {}), "conditions": [gone]}
    codes, text = said(desk(tmp_path, {"phase": "Running"}, node=node))
    assert codes == ["NodeNotReady"]
    assert "node n has not answered for" in text


def test_the_driver_publishes_nothing_any_more(tmp_path: Path) -> None:
    user = pod("user", claims={"gpu": "claim"}, node="n")
    user["status"] = {"phase": "Pending", **CREATING}
    gone = held(claim(), ("n", "device-0"), pods=[user])
    codes, text = said(Desk(tmp_path, objects.node("n"), device_class(), gone, user))
    assert codes == ["PluginMissing"]
    assert f"driver {DRIVER} publishes no pool n any more" in text
