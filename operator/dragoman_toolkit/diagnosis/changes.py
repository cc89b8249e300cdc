"""What if: the same world with nodes more or fewer, pods fewer, devices tainted."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dragoman.allocation import DeviceTaintRule, Taint
from dragoman.inventory.facts.world import World
from dragoman.model.claim import Claim
from dragoman_toolkit.diagnosis.virtualnodes import ChangeError, Virtual, copied

MAX_NODES = 1000
"""Virtual nodes of one answer."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences to the world as it is."""

    # Pairs of a node and how many virtual nodes like it are added
    copies: tuple[tuple[str, int], ...] = ()
    added: tuple[Virtual, ...] = ()  # Virtual nodes of files
    # Nodes that are taken away; pods on them are not placed elsewhere
    without_nodes: tuple[str, ...] = ()
    # `namespace/name` of pods that end; claims that only they use come free
    without_pods: tuple[str, ...] = ()
    rules: tuple[DeviceTaintRule, ...] = ()  # Taints of devices

    def __bool__(self) -> bool:
        nodes = self.copies or self.added or self.without_nodes
        return bool(nodes or self.without_pods or self.rules)


def changed(world: World, changes: Changes) -> tuple[World, tuple[Virtual, ...]]:
    """Return the world after changes, and the virtual nodes in it.

    Raises:
        ChangeError: A node or pod does not exist, or there are too many nodes.
    """
    for name in changes.without_nodes:
        if name not in world.nodes:
            raise ChangeError(f"node {name} not found")
    gone = set(changes.without_nodes)
    nodes = {name: node for name, node in world.nodes.items() if name not in gone}
    virtual = _virtual(world, changes)
    for one in virtual:
        if nodes.setdefault(one.node.node.name, one.node) is not one.node:
            name = one.node.node.name
            raise ChangeError(f"node {name} is there already; --without-node {name} replaces it")
    slices = [one for one in world.slices if one.node_name not in gone]
    slices += [one for copy in virtual for one in copy.slices]
    published = [
        (one.driver, one.pool, device.name)
        for one in slices
        for device in (one.devices if changes.rules else ())
    ]
    for rule in changes.rules:
        if not any(map(rule.selects, published)):
            raise ChangeError(f"--taint {rule.name}: no ResourceSlice has such devices")
    after = replace(
        world,
        nodes=nodes,
        slices=tuple(slices),
        rules=(*world.rules, *changes.rules),
    )
    return _without_pods(after, changes.without_pods), virtual


def _virtual(world: World, changes: Changes) -> tuple[Virtual, ...]:
    copies = (
        copied(world, like, number)
        for like, count in _counted(changes)
        for number in range(1, count + 1)
    )
    return (*copies, *changes.added)


def _counted(changes: Changes) -> Iterable[tuple[str, int]]:
    total: dict[str, int] = {}
    for like, count in changes.copies:
        total[like] = total.get(like, 0) + count
    if sum(total.values()) + len(changes.added) > MAX_NODES:
        raise ChangeError(f"at most {MAX_NODES} virtual nodes can be added")
    return total.items()


def _without_pods(world: World, names: Iterable[str]) -> World:
    gone = set(names)
    for name in gone:
        if name not in world.pods:
            raise ChangeError(f"pod {name} not found")
    uids = {world.pods[name].pod.metadata.uid for name in gone}
    claims = {
        key: left for key, claim in world.claims.items() if (left := _without_users(claim, uids))
    }
    pods = {key: pod for key, pod in world.pods.items() if key not in gone}
    return replace(world, pods=pods, claims=claims)


def _without_users(claim: Claim, uids: set[str]) -> Claim | None:
    """Return what is left of a claim when these pods have ended; None where it goes with one."""
    owner = claim.metadata.owner
    if owner is not None and owner.uid in uids:
        return None
    left = tuple(one for one in claim.consumers if one.uid not in uids)
    if len(left) == len(claim.consumers):
        return claim
    # A claim that a user made stays, without devices.
    return replace(claim, consumers=left, held=claim.held if left else None)


def taint_rule(text: str) -> DeviceTaintRule:
    """Read `driver[/pool[/device]]=key[=value]:effect`.

    Raises:
        ChangeError: The text has another form.
    """
    target, equals, rest = text.partition("=")
    taint, colon, effect = rest.rpartition(":")
    key, _, value = taint.partition("=")
    if not (equals and colon and target and key and effect in ("NoSchedule", "NoExecute")):
        raise ChangeError(
            f"--taint {text}: expected DRIVER[/POOL[/DEVICE]]=KEY[=VALUE]:NoSchedule or :NoExecute"
        )
    driver, _, below = target.partition("/")
    pool, _, device = below.rpartition("/") if below.count("/") else (below, "", "")
    return DeviceTaintRule(
        name=text,
        taint=Taint(key, effect, value, "simulated"),
        driver=driver,
        pool=pool or None,
        device=device or None,
    )
