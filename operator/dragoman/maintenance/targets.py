"""Targets: which devices of the inventory are meant, by name, node or CEL."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.allocation.requests.expressions import Expression, Failure, Views
from dragoman.inventory.inventory import Inventory, InventoryDevice
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman_base.words import natural
from dragoman_cel.budget import StepBudget

NAMES = 10
"""Names of one kind that a message lists."""
NODES = ("node", "nodes", "no")
"""What kubectl's users call a node before its name."""


class TargetError(ValueError):
    """A target is no device name, or its expression does not compile; the message says which."""


@dataclass(frozen=True, slots=True)
class Target:
    """Devices that meet every field that is set."""

    driver: str = ""  # Name of the driver
    pool: str = ""  # Name of a pool of that driver
    device: str = ""  # Name of a device of that pool
    node: str = ""  # Node of the device
    where: str = ""  # CEL expression as in a selector of a DeviceClass

    def __str__(self) -> str:
        name = "/".join(part for part in (self.driver, self.pool, self.device) if part)
        node = f"node {self.node}" if self.node else ""
        where = f"where {self.where}" if self.where else ""
        return ", ".join(part for part in (name, node, where) if part) or "every device"


@dataclass(frozen=True, slots=True)
class TargetSelection:
    """The devices of targets."""

    devices: tuple[InventoryDevice, ...]  # In the order of the inventory; lost ones last
    published: int  # How many devices the cluster publishes
    # `device: message` for each device on which an expression fails; it is left out
    failures: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[DeviceID, ...]:
        """The identities of the devices."""
        return tuple(device.id for device in self.devices)

    @property
    def everything(self) -> bool:
        """Whether the selection has every device of the cluster, and more than one."""
        current = sum(device.content is not None for device in self.devices)
        return current == self.published > 1


def parse(text: str, inventory: Inventory) -> Target:
    """Read `driver/pool/device`, `driver/pool` or `node/NAME`.

    Names of pools may have slashes, so the inventory decides where the name of a pool ends; what it
    does not know counts as `driver/pool/device` where it has two slashes or more.

    Raises:
        TargetError: The text has no slash, or an empty part.
    """
    driver, _, rest = text.partition("/")
    # Names of drivers are DNS names; "node" may be one, and then the pool decides.
    if driver in NODES and rest and "/" not in rest and PoolID(driver, rest) not in inventory.pools:
        return Target(node=rest)
    if not driver or not rest or not all(rest.split("/")):
        # `kubectl drain` and `kubectl taint node` take the bare name of a node.
        is_node = any(device.node == text for device in inventory.devices.values() if text)
        hint = f"; did you mean node/{text}?" if is_node else ""
        raise TargetError(
            f"{text!r}: expected driver/pool/device, driver/pool or node/NAME, "
            f"such as gpu.nvidia.com/node-4/gpu-3{hint}"
        )
    pool, _, device = rest.rpartition("/")
    if DeviceID(driver, pool, device) in inventory.devices:
        return Target(driver, pool, device)
    known = PoolID(driver, rest) in inventory.pools
    if (
        known
        or not pool
        or any(_pool(one.id) == (driver, rest) for one in inventory.devices.values())
    ):
        return Target(driver, rest)
    return Target(driver, pool, device)


def _pool(device: DeviceID) -> tuple[str, str]:
    return device.driver, device.pool


def targets(
    names: Iterable[str], inventory: Inventory, *, node: str = "", where: str = ""
) -> tuple[Target, ...]:
    """Return the targets of a command line: each name, further limited by node and expression.

    Raises:
        TargetError: A name is malformed, or nothing at all is given.
    """
    named = [parse(name, inventory) for name in names]
    if not named and not node and not where:
        raise TargetError(
            "name a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME), "
            "or choose devices with --node or --where"
        )
    if other := next((one for one in named if node and one.node not in {"", node}), None):
        raise TargetError(f"node/{other.node} and --node {node} are different nodes: give one")
    return tuple(replace(one, node=one.node or node, where=where) for one in named or [Target()])


def select(
    inventory: Inventory,
    wanted: Sequence[Target],
    late: Callable[[], bool] = lambda: False,
) -> TargetSelection:
    """Return the devices that meet any of the targets.

    A device on which an expression fails does not meet it, as in a DeviceClass; the failure is
    reported, so that a misspelled attribute does not look like a device in good health.

    Args:
        inventory: Has the devices.
        wanted: The targets.
        late: Whether the answer has taken too long: expressions may be expensive on each device.

    Raises:
        TargetError: An expression does not compile, or takes too long.
    """
    failures: dict[str, None] = {}
    found = []
    for device, meets in _answers(inventory, wanted, failures, late, Views(inventory.profile)):
        if meets:
            found.append(device)
    published = sum(device.content is not None for device in inventory.devices.values())
    return TargetSelection(tuple(found), published, tuple(failures))


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a cluster a target selects."""

    some: bool  # Whether it selects any device
    others: bool  # Whether there is a device that it does not select
    failure: str = ""  # `device: message` for the first device on which its expression fails


def extent(
    inventory: Inventory, wanted: Target, budget: StepBudget, late: Callable[[], bool]
) -> Extent:
    """Return how much of a cluster a target selects, as soon as that is clear.

    Args:
        inventory: Has the devices.
        wanted: The target.
        budget: Steps of all evaluations of its expression.
        late: Whether the answer has taken too long.

    Raises:
        TargetError: As `select`.
    """
    failures: dict[str, None] = {}
    seen = set()
    views = Views(inventory.profile, budget)
    for _, meets in _answers(
        inventory, [wanted], failures, lambda: late() or not budget.remaining, views
    ):
        seen.add(meets)
        if len(seen) > 1:
            break
    return Extent(True in seen, False in seen, next(iter(failures), ""))


def _answers(
    inventory: Inventory,
    wanted: Sequence[Target],
    failures: dict[str, None],
    late: Callable[[], bool],
    views: Views,
) -> Iterator[tuple[InventoryDevice, bool]]:
    """Yield whether each device meets any of the targets; note where an expression fails."""
    expressions = {
        one.where: Expression(one.where, inventory.profile, views) for one in wanted if one.where
    }
    for device in inventory.devices.values():
        meets = False
        for target in wanted:
            if not _named(target, device):
                continue
            answer = _meets(expressions.get(target.where), device)
            if target.where and late():
                raise TargetError(
                    f"expression {target.where!r} takes too long on {len(inventory.devices)} "
                    "devices: name a driver, pool or node as well"
                )
            if isinstance(answer, Failure):
                failures[f"{device.id}: {answer.message}"] = None
            elif answer:
                meets = True
                break
        yield device, meets


def _named(target: Target, device: InventoryDevice) -> bool:
    return (
        target.driver in ("", device.id.driver)
        and target.pool in ("", device.id.pool)
        and target.device in ("", device.id.device)
        and target.node in ("", device.node)
    )


def _meets(expression: Expression | None, device: InventoryDevice) -> bool | Failure:
    if expression is None:
        return True
    if device.content is None:  # a lost device has no attributes
        return False
    answer = expression.on(device.content)
    if isinstance(answer, Failure) and answer.compiling:
        raise TargetError(f"expression {expression.text!r}: {answer.message}")
    return answer


def near(target: Target, inventory: Inventory) -> str:
    """Return what there is instead of a target that no device meets; empty where names exist."""
    devices = [*inventory.devices.values()]
    drivers = {device.id.driver for device in devices}
    pools = {device.id.pool for device in devices if device.id.driver == target.driver}
    mates = {one.id.device for one in devices if _pool(one.id) == (target.driver, target.pool)}
    nodes = {device.node for device in devices if device.node}
    for name, known, what in (
        (target.driver, drivers, "drivers with devices"),
        (target.pool, pools, f"pools of {target.driver}"),
        (target.device, mates, f"devices of {target.driver}/{target.pool}"),
        (target.node, nodes, "nodes with devices"),
    ):
        if name and name not in known:
            return f"{what}: {', '.join(sorted(known, key=natural)[:NAMES]) or 'none'}"
    return ""
