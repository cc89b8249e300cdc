"""The steps that move one node between device sources, each with the command and its wait.

The label `dragoman.dev/device-source` drives both DaemonSets: the device plug-in runs where it is
`plugin` or absent, the DRA driver where it is `dra`, and neither where it is `none`. Between both
sources a node is always `none`, until the first one is gone: otherwise a device can be given to two
pods.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SOURCE = "dragoman.dev/device-source"
"""Label of nodes: `plugin`, `none` or `dra`."""
COUNTS = "devices.dragoman.dev/"
"""Prefix of labels that keep the devices of a resource, as `DEVICESxREPLICAS`, between steps."""
OPERATOR = "nvidia.com/gpu.deploy.device-plugin"
"""Label by which NVIDIA's GPU operator runs the plug-in on a node."""
_COUNT = re.compile(r"(\d{1,6})x(\d{1,6})")
_LONGEST = 63
"""Characters of a label's name behind its prefix."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What has to be true before the next step."""

    what: str  # A clause
    command: str  # Prints the state
    until: tuple[str, ...]  # What it prints then: one of these
    limit: int  # Seconds, after which something is wrong

    def as_json(self) -> dict[str, Any]:
        """Return its fields."""
        return {
            "what": self.what,
            "command": self.command,
            "until": list(self.until),
            "limit_s": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    does: str  # A stable word, such as `cordon`
    text: str  # What it does, as an imperative
    command: str = ""  # What to run; empty where there is only something to wait for
    wait: Wait | None = None  # What ends it
    if_not: str = ""  # What to do where the wait reaches its limit

    def as_json(self, number: int) -> dict[str, Any]:
        """Return its fields."""
        return {
            "n": number,
            "does": self.does,
            "text": self.text,
            "command": self.command or None,
            "wait": self.wait.as_json() if self.wait else None,
            "ifNot": self.if_not or None,
        }


@dataclass(frozen=True, slots=True)
class Amount:
    """A resource on a node."""

    resource: str  # Its name
    devices: int  # Devices that stand for it there; 0 where the count is not known
    replicas: int = 1  # Pods that share each with the plug-in
    driver: str = ""  # That publishes them
    told: bool = True  # Whether the plug-in, or a label, says how many it counts

    @property
    def plugin(self) -> int:
        """What the plug-in counts."""
        return self.devices * self.replicas

    def then(self, *, back: bool) -> int:
        """Return what pods can get after the move."""
        return self.plugin if back else self.devices

    @property
    def label(self) -> str:
        """The label that keeps the counts, with its value; empty where no label can."""
        name = _label(self.resource)
        return f"{name}={self.devices}x{self.replicas}" if name and self.devices else ""


@dataclass(frozen=True, slots=True)
class Options:
    """What commands need to mean the same cluster and classes; each begins with a space."""

    connection: str = ""  # Such as ` --context prod`
    question: str = ""  # Of `kubectl dra migrate`, such as ` --map example.com/fpga=fpga`

    @property
    def migrate(self) -> str:
        """Those of `kubectl dra migrate`."""
        return self.question + self.connection


def kept(resource: str, labels: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the devices and replicas that a node's labels keep for a resource."""
    found = _COUNT.fullmatch(str(labels.get(_label(resource)) or ""))
    return (int(found[1]), max(int(found[2]), 1)) if found else None


def _label(resource: str) -> str:
    name = resource.replace("/", ".")
    return f"{COUNTS}{name}" if len(name) <= _LONGEST else ""


@dataclass(frozen=True, slots=True)
class NodeSteps:
    """Makes the steps of a node."""

    node: str  # Its name
    amounts: Sequence[Amount]  # The resources that move
    operated: bool = False  # Whether NVIDIA's GPU operator runs the plug-in there
    evicts: bool = True  # Whether pods have to leave
    daemons: Sequence[str] = ()  # `namespace/name` of pods of DaemonSets that use the resources
    unmanaged: bool = False  # Whether pods that no controller makes again are deleted as well
    unsafe: bool = False  # Whether the node has both sources now
    options: Options = field(default=Options())  # Of every command

    def forward(self, first: str = "cordon") -> Iterator[Step]:
        """Yield the steps to DRA, from one of them on."""
        steps = [self._cordon(), *self._leave(), self._none("the device plug-in")]
        if self.unsafe:
            steps = [self._none("both sources"), self._cordon(), *self._leave()]
        steps += [self._gone(one) for one in self.amounts]
        steps += self._daemons()
        steps += [
            self._labelled("source-dra", "dra", "start the DRA driver"),
            *(self._devices(one) for one in self.amounts),
            *self._done(),
        ]
        return _from(first, steps)

    def back(self, first: str = "cordon") -> Iterator[Step]:
        """Yield the steps to the device plug-in, from one of them on."""
        drivers = sorted({one.driver for one in self.amounts} - {""})
        steps = [self._cordon(), *self._leave(), self._free(), self._none("the DRA driver")]
        if self.unsafe:
            steps = [self._none("both sources"), self._cordon(), *self._leave(), self._free()]
        steps += [self._no_slices(one) for one in drivers]
        steps += [
            self._labelled("source-plugin", "plugin", "start the device plug-in"),
            *(self._resource(one) for one in self.amounts),
            *self._done(),
        ]
        return _from(first, steps)

    @property
    def _name(self) -> str:
        return shlex.quote(self.node)

    def _cordon(self) -> Step:
        return Step(
            "cordon", "take no new pods", f"kubectl cordon {self._name}{self.options.connection}"
        )

    def _done(self) -> list[Step]:
        return [
            Step(
                "uncordon",
                "take pods again",
                f"kubectl uncordon {self._name}{self.options.connection}",
            ),
            Step(
                "check",
                "look at its devices",
                f"kubectl dra top nodes {self._name}{self.options.connection}",
            ),
        ]

    def _leave(self) -> list[Step]:
        more = (" --force" if self.unmanaged else "") + self.options.connection
        evict = Step(
            "evict",
            "evict its pods",
            f"kubectl drain {self._name} --ignore-daemonsets --delete-emptydir-data{more}",
            if_not="kubectl drain names the PodDisruptionBudget: run more replicas, or wait",
        )
        # Pods of DaemonSets come back at once, so that they leave when the plug-in is gone.
        return ([evict] if self.evicts else []) + ([] if self.daemons else [self._empty()])

    def _daemons(self) -> list[Step]:
        """Return how pods of DaemonSets leave: those of a new one wait until the driver is there.

        The plug-in is gone by then, so the new pod gets no device of it.
        """
        found = []
        for one in self.daemons:
            namespace, _, name = one.partition("/")
            where = f"-n {shlex.quote(namespace)} {shlex.quote(name)}"
            command = f"kubectl delete pod {where}{self.options.connection}"
            found.append(Step("evict", f"end {one}, which its DaemonSet makes again", command))
        return found

    def _empty(self) -> Step:
        paths = "".join(
            f"{{.items[*].spec.{kind}[*].resources.limits.{_escaped(one.resource)}}}"
            for one in self.amounts
            for kind in ("containers", "initContainers")
        )
        selector = f"spec.nodeName={self.node},status.phase!=Succeeded,status.phase!=Failed"
        wait = Wait(
            "no pod there asks for the resources",
            f"kubectl get pods -A --field-selector {shlex.quote(selector)} -o "
            f"{shlex.quote(f'jsonpath={paths}')}{self.options.connection}",
            ("",),
            900,
        )
        return Step(
            "wait-empty",
            "wait for its pods",
            wait=wait,
            if_not=f"kubectl get pods -A --field-selector spec.nodeName={self._name}"
            f"{self.options.connection} shows which are left; their grace periods or finalizers "
            "keep them",
        )

    def _none(self, what: str) -> Step:
        more = "".join(f" {label}" for one in self.amounts if (label := one.label))
        return self._labelled("source-none", "none", f"stop {what}", more)

    def _labelled(self, does: str, value: str, text: str, more: str = "") -> Step:
        if self.operated:
            more += f" {OPERATOR}={'true' if value == 'plugin' else 'false'}"
        return Step(does, text, self._label(value) + more + self.options.connection)

    def _label(self, value: str) -> str:
        return f"kubectl label node {self._name} --overwrite {SOURCE}={value}"

    def _counted(self, one: Amount, what: str, *until: str) -> Wait:
        """Return the wait for a number in `status.allocatable`."""
        path = f"jsonpath={{.status.allocatable.{_escaped(one.resource)}}}"
        command = f"kubectl get node {self._name} -o {shlex.quote(path)}{self.options.connection}"
        return Wait(f"allocatable {one.resource} is {what}", command, until, 300)

    def _gone(self, one: Amount) -> Step:
        return Step(
            "wait-gone",
            f"wait for the end of {one.resource}",
            wait=self._counted(one, "0 or absent", "", "0"),
            if_not="the plug-in's DaemonSet does not follow the label; it must run nowhere where "
            f"{SOURCE} is none or dra",
        )

    def _resource(self, one: Amount) -> Step:
        count = (str(one.plugin),) if one.plugin and one.told else ()
        return Step(
            "wait-resource",
            f"wait for {one.resource}",
            wait=self._counted(one, "".join(count) or "above 0", *count),
            if_not="look at the log of the plug-in's pod on the node; "
            f"{self._label('none')}{self.options.connection} before anything else",
        )

    def _devices(self, one: Amount) -> Step:
        path = f"jsonpath={{.nodes[0].resources.{_escaped(one.resource)}.devices}}"
        expected = (str(one.devices),) if one.devices else ()
        return Step(
            "wait-devices",
            f"wait for the devices of {one.resource}",
            wait=Wait(
                f"the class selects {one.devices or 'all'} devices of complete pools",
                f"kubectl dra migrate plan {self._name} --all -o {shlex.quote(path)}"
                f"{self.options.migrate}",
                expected,
                300,
            ),
            if_not=f"{self._label('none')}{self.options.connection}, then look at the log of the "
            "driver's pod on the node; kubectl dra migrate plan --back is the way back",
        )

    def _free(self) -> Step:
        return Step(
            "wait-free",
            "wait for its devices",
            wait=Wait(
                "no claim holds a device of the node",
                f"kubectl dra migrate plan {self._name} --back --all -o "
                f"'jsonpath={{.nodes[0].held}}'{self.options.migrate}",
                ("0",),
                900,
            ),
            if_not="kubectl dra who shows which claims hold devices, and for which pods",
        )

    def _no_slices(self, driver: str) -> Step:
        selector = f"spec.nodeName={self.node},spec.driver={driver}"
        return Step(
            "wait-no-slices",
            f"wait for the end of {driver}",
            wait=Wait(
                f"{driver} publishes no slice of the node",
                f"kubectl get resourceslices --field-selector {shlex.quote(selector)} -o name"
                f"{self.options.connection}",
                ("",),
                300,
            ),
            if_not="the driver's DaemonSet does not follow the label; it must run only where "
            f"{SOURCE} is dra",
        )


def _from(first: str, steps: Iterable[Step]) -> Iterator[Step]:
    found = False
    for one in steps:
        found = found or one.does == first
        if found:
            yield one


def _escaped(resource: str) -> str:
    """Return a resource as a field of JSONPath."""
    return resource.replace(".", r"\.")
