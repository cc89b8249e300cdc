"""Why a pod that has devices and a node does not run: what the kubelet and drivers left to do.

The kubelet prepares a claim through the plugin pod of its driver on the node, then starts each
container with the CDI devices that the driver named (KEP-4381). Both are lost with a reboot.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dragoman.allocation import PoolID
from dragoman.diagnosis.obstacles import Obstacle
from dragoman.diagnosis.subject import Subject
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.pools import Plugins, condition, is_ready
from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import NodeFact, PodFact
from dragoman.model.claim import Claim
from dragoman.model.fields import part, parts
from dragoman.model.timestamps import seconds
from dragoman_toolkit.diagnosis.departures import fencing, silent_since

_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons of containers that wait for the kubelet, which says no more in the status."""
_IMAGES = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_RESTART = 1800.0
"""Seconds within which a node is ready again after a restart."""
_SLOW = 60.0
"""Seconds that preparing devices may take."""
_LOST = frozenset({"Unknown", "ContainerStatusUnknown"})
"""Reasons of containers that ended while the kubelet did not look."""


class StartObstacleCode(StrEnum):
    """Why a pod with devices and a node does not run."""

    NODE_NOT_READY = "NodeNotReady"
    POD_DELETING = "PodDeleting"
    PLUGIN_MISSING = "PluginMissing"
    PLUGIN_NOT_READY = "PluginNotReady"
    PREPARE_FAILED = "PrepareFailed"
    CDI_UNRESOLVABLE = "CDIUnresolvable"
    CONTAINER_WAITS = "ContainerWaits"
    CONTAINER_ENDED = "ContainerEnded"


@dataclass(frozen=True, slots=True)
class ContainerState:
    """A container that does not run."""

    name: str  # Of the container
    waits: bool  # Whether it has not started; else it has ended
    reason: str  # The kubelet's, such as `ContainerCreating`
    message: str = ""  # The kubelet's
    code: int = 0  # Exit code
    ended: str = ""  # When, as an API timestamp


def obstacles(facts: DoctorFacts, subject: Subject, warning: str = "") -> Iterator[Obstacle]:
    """Yield what keeps a pod with devices from running.

    Args:
        facts: The cluster.
        subject: A pod with a node.
        warning: The kubelet's last warning about the pod; empty where there is none.
    """
    pod = subject.pod
    node = facts.inventory.world.nodes.get(pod.pod.node_name)
    silent = silent_since(node)
    states = tuple(_states(pod))
    if pod.pod.metadata.deleting:
        yield _deleting(facts, pod, silent)
    elif silent:
        since = age(facts.snapshot.taken, silent)
        yield _obstacle(
            StartObstacleCode.NODE_NOT_READY,
            f"node {pod.pod.node_name} has not answered for {since}",
            f"kubectl describe node {pod.pod.node_name}",
        )
    waiting = [one for one in states if one.waits]
    unseen = not states and pod.pod.phase == "Pending"
    if unseen or any(one.reason in _CREATING for one in waiting):
        yield from _unprepared(facts, subject, warning)
    for one in waiting:
        if one.reason not in _CREATING:
            yield _waits(pod, one)
    if pod.pod.phase == "Running" and not pod.pod.metadata.deleting:
        yield from (_ended(facts, pod, node, one) for one in states if _is_dead(one))


def creates_again(pod: PodFact) -> str:
    """Return the kind of the controller that replaces a pod; empty where none does."""
    owner = pod.pod.metadata.owner
    return owner.kind if owner is not None else ""


def deletion(pod: PodFact) -> str:
    """Return the command that deletes a pod, and what comes after it."""
    metadata = pod.pod.metadata
    command = f"kubectl delete pod -n {metadata.namespace} {metadata.name}"
    kind = creates_again(pod)
    return command if kind else f"{command}, and create it again: it has no controller"


def _obstacle(code: StartObstacleCode, message: str, remedy: str) -> Obstacle:
    return Obstacle(code, message, remedy, stops=False)


def _states(pod: PodFact) -> Iterator[ContainerState]:
    """Yield the containers that do not run; init containers that have done their work have not."""
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in parts(pod.document, "status", field):
            name = str(status.get("name") or "")
            waiting, ended = part(status, "state", "waiting"), part(status, "state", "terminated")
            if waiting:
                reason, message = (str(waiting.get(key) or "") for key in ("reason", "message"))
                yield ContainerState(name, True, reason, message)  # noqa: FBT003 — `waits`
            elif ended:
                code = ended.get("exitCode")
                yield ContainerState(
                    name,
                    waits=False,
                    reason=str(ended.get("reason") or ""),
                    code=code if isinstance(code, int) else 0,
                    ended=str(ended.get("finishedAt") or ""),
                )


def _deleting(facts: DoctorFacts, pod: PodFact, silent: str) -> Obstacle:
    metadata = part(pod.document, "metadata")
    since = age(facts.snapshot.taken, str(metadata.get("deletionTimestamp") or ""))
    message = f"pod {pod.key} has been being deleted for {since}"
    if silent:
        message += f" on node {pod.pod.node_name}, which does not answer"
        return _obstacle(StartObstacleCode.POD_DELETING, message, fencing(pod))
    return _obstacle(StartObstacleCode.POD_DELETING, message, "its containers have to end first")


def _unprepared(facts: DoctorFacts, subject: Subject, warning: str) -> Iterator[Obstacle]:
    """Yield the drivers of a pod's claims that cannot prepare them on its node."""
    node = subject.pod.pod.node_name
    plugins = Plugins.of(facts)
    drivers = {
        one.id.driver: PoolID(one.id.driver, one.id.pool)
        for claim in _claims(facts, subject)
        for one in claim.devices
    }
    found = [
        one for pool in sorted(drivers.values()) for one in _plugin(facts, plugins, pool, node)
    ]
    yield from found
    ready = [
        pod.key
        for pool in drivers.values()
        if (there := facts.inventory.pools.get(pool))
        and (pod := plugins.ready_on(facts, there, node))
    ]
    if warning:
        yield _prepare(subject.pod, warning)
    elif ready and not found and facts.age(subject.pod.started) > _SLOW:
        metadata = subject.pod.pod.metadata
        yield _obstacle(
            StartObstacleCode.CONTAINER_WAITS,
            f"the kubelet of {node} has not prepared the devices, although the drivers' plugin pods"
            f" are ready ({', '.join(ready)})",
            f"kubectl describe pod -n {metadata.namespace} {metadata.name} shows its last warning",
        )


def _claims(facts: DoctorFacts, subject: Subject) -> Iterator[Claim]:
    yield from subject.allocated
    pod = subject.pod.pod
    extended = facts.inventory.world.claims.get(f"{pod.metadata.namespace}/{pod.extended_claim}")
    if extended is not None:
        yield extended


def _plugin(facts: DoctorFacts, plugins: Plugins, pool_id: PoolID, node: str) -> Iterator[Obstacle]:
    pool = facts.inventory.pools.get(pool_id)
    if not facts.read("pods") or not facts.read("resourceslices"):
        return
    if pool is None:
        yield _obstacle(
            StartObstacleCode.PLUGIN_MISSING,
            f"driver {pool_id.driver} publishes no pool {pool_id.pool} any more",
            f"see whether the driver still runs on {node}",
        )
        return
    there = plugins.of_driver(facts, pool)
    pod = plugins.ready_on(facts, pool, node)
    if pod is not None:
        if not is_ready(pod):
            metadata = pod.pod.metadata
            reasons = ", ".join(dict.fromkeys(one.reason for one in _states(pod) if one.reason))
            yield _obstacle(
                StartObstacleCode.PLUGIN_NOT_READY,
                f"plugin pod {pod.key} of driver {pool_id.driver} on {node} is not ready"
                + (f" ({reasons})" if reasons else ""),
                f"kubectl logs -n {metadata.namespace} {metadata.name}",
            )
        return
    # A plugin that is no pod of a DaemonSet, such as a service of the node, is not seen.
    if not there:
        return
    other = there[0][0].pod.metadata
    owner = other.owner.name if other.owner else ""
    yield _obstacle(
        StartObstacleCode.PLUGIN_MISSING,
        f"no plugin pod of driver {pool_id.driver} runs on {node}, so that the kubelet cannot "
        f"prepare the claim: DaemonSet {other.namespace}/{owner} has none there",
        f"kubectl describe daemonset -n {other.namespace} {owner}",
    )


def _prepare(pod: PodFact, warning: str) -> Obstacle:
    return _obstacle(
        StartObstacleCode.PREPARE_FAILED,
        f"last warning of the kubelet: {warning}",
        f"where the node has restarted, a new pod gets its devices prepared: {deletion(pod)}"
        if "prepare" in warning.lower()
        else "",
    )


def _waits(pod: PodFact, state: ContainerState) -> Obstacle:
    said = f"container {state.name}: {state.reason}" + (state.message and f": {state.message}")
    if "CDI" in state.message:
        return _obstacle(
            StartObstacleCode.CDI_UNRESOLVABLE,
            said,
            "the driver's files of these devices are gone, usually since a restart of the node; "
            f"a new pod gets them prepared again: {deletion(pod)}",
        )
    metadata = pod.pod.metadata
    elsewhere = {
        **dict.fromkeys(_IMAGES, "correct the image or its pull secret"),
        "CreateContainerConfigError": "create what the message names, or correct the pod",
    }.get(state.reason)
    # Only a container that crashed has logs; the kubelet could not start others.
    ran = state.reason == "CrashLoopBackOff"
    look = f"kubectl logs -n {metadata.namespace} {metadata.name} -c {state.name} --previous"
    return _obstacle(
        StartObstacleCode.CONTAINER_WAITS,
        f"{said}: devices are not the cause" if elsewhere else said,
        elsewhere
        or (look if ran else f"kubectl describe pod -n {metadata.namespace} {metadata.name}"),
    )


def _is_dead(state: ContainerState) -> bool:
    return not state.waits and (state.reason in _LOST or state.code != 0)


def _ended(
    facts: DoctorFacts, pod: PodFact, node: NodeFact | None, state: ContainerState
) -> Obstacle:
    now = facts.snapshot.taken
    message = (
        f"the pod is {pod.pod.phase}, but its container {state.name} ended "
        f"({state.reason or 'Error'}, exit code {state.code}) {age(now, state.ended)} ago"
    )
    ready = condition(node.document, "Ready") if node else {}
    since = str(ready.get("lastTransitionTime") or "")
    elapsed = seconds(since, state.ended) if since and state.ended else None
    restarted = state.reason in _LOST or (elapsed is not None and 0 <= elapsed < _RESTART)
    if state.reason == "OOMKilled":
        message += ": devices are not the cause"
        remedy = "raise the memory limit of the container, or let it use less"
    elif restarted:
        message += f", with node {pod.pod.node_name}, and does not come back"
        remedy = f"a new pod gets its devices prepared: {deletion(pod)}"
    else:
        metadata = pod.pod.metadata
        remedy = f"kubectl logs -n {metadata.namespace} {metadata.name} -c {state.name}"
    return _obstacle(StartObstacleCode.CONTAINER_ENDED, message, remedy)
