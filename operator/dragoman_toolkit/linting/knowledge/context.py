"""What rules know beside the object they look at."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from dragoman_base.versions import Version
from dragoman_base.versions import name as version_name
from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.knowledge.api import ServedApi
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from dragoman_toolkit.linting.manifests.manifestobjects import GROUP, Object
from dragoman_toolkit.linting.manifests.placeholders import has_placeholder

Key = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True)
class Context:
    """What a check knows."""

    api: ServedApi  # The API of the chosen Kubernetes version
    devices: KnownDevices = field(default_factory=KnownDevices)  # Known devices
    # Every object of the input, and of the cluster where one was read
    objects: tuple[Object, ...] = ()
    complete: bool = False  # Whether a name that no object has cannot exist
    # Judges the driver configs of an object
    driver_configs: Callable[[Object], Iterable[Problem]] = lambda _: ()
    any_version: bool = False  # Whether the manifests may go to a server of another version
    # The version that the cluster is upgraded to; None where none was named
    target: Version | None = None
    # Versions such as `resource.k8s.io/v1beta1` that are off by default and that the server has
    served: frozenset[str] = frozenset()
    gates: Mapping[str, bool] = field(default_factory=dict)  # Feature gates that differ

    @property
    def kubernetes(self) -> str:
        """The Kubernetes version, such as `1.36`."""
        return version_name(self.api.version)

    @cached_property
    def index(self) -> Mapping[Key, Object]:
        """The objects by kind, namespace and name."""
        return {(one.kind, one.namespace, one.name): one for one in self.named}

    @cached_property
    def named(self) -> tuple[Object, ...]:
        """The objects that others can name: a kind of DRA in another group is none of them."""
        kinds = self.api.kinds_of(GROUP)
        return tuple(one for one in self.objects if one.in_group or one.kind not in kinds)

    @cached_property
    def names(self) -> Mapping[str, set[str]]:
        """The names of the objects of each kind."""
        found: dict[str, set[str]] = {}
        for one in self.named:
            if one.name and not has_placeholder(one.name):
                found.setdefault(one.kind, set()).add(one.name)
        return found

    def find(self, kind: str, namespace: str, name: str) -> Object | None:
        """Find an object; a manifest without a namespace may be applied to any."""
        exact = self.index.get((kind, namespace, name))
        if exact is not None or not name:
            return exact
        return self.index.get((kind, "", name)) or (
            None if namespace else self._anywhere.get((kind, name))
        )

    @cached_property
    def _anywhere(self) -> Mapping[tuple[str, str], Object]:
        return {(one.kind, one.name): one for one in reversed(self.named)}

    def device_class(self, name: str) -> Object | None:
        """Find a DeviceClass."""
        return self.index.get(("DeviceClass", "", name)) or self._anywhere.get(
            ("DeviceClass", name)
        )

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """Answers that several rules need, such as compiled selectors."""
        return {}

    @cached_property
    def reported(self) -> dict[Any, Any]:
        """What is reported once for several objects, such as a label that a namespace needs."""
        return {}

    def apart(self) -> Self:
        """Return the same knowledge for a changed object: nothing is reported or judged by it."""
        made = replace(self, driver_configs=lambda _: ())
        shared = ("named", "index", "names", "_anywhere", "memory")
        vars(made).update({name: getattr(self, name) for name in shared})
        return made
