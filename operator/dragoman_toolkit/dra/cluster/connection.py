"""The connection of users' commands: kubeconfig, context and impersonation as kubectl has them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dragoman.cluster.reader import Reader
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import Client, items
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials.files import ConnectionSettingsError, load
from dragoman.kube.discovery import (
    DRA_GROUP,
    DRA_VERSIONS,
    OPTIONAL_VERSIONS,
    NotServedError,
    find_resource,
)
from dragoman.kube.errors import ApiError
from dragoman.kube.kubeconfig import Credentials, namespace
from dragoman.kube.resources import Resource
from dragoman_toolkit.dra.cluster.selection import ENDED, ObjectSelection
from dragoman_toolkit.dra.output import Unusable

Answer = TypeVar("Answer")
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class ServerConnection:
    """Calls of the API server that the options name; each raises Unusable without an answer."""

    options: ConnectionOptions

    def call(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Ask what one answer takes."""

        async def ask() -> Answer:
            with explained():
                async with client_of(self.options) as client:
                    return await question(client)

        return asyncio.run(ask())

    def read(
        self, namespace: str, plurals: Iterable[str], progress: Progress, *, ended: bool = False
    ) -> Snapshot:
        """Read objects; those of one namespace where the user may not list all."""
        return self.call(
            lambda client: Reader(client, namespace, progress, ended=ended).read(plurals)
        )

    def selected(self, plural: str, selection: ObjectSelection, namespace: str) -> frozenset[str]:
        """Return the objects with labels and fields; empty stands for all namespaces."""
        return self.call(lambda client: selected(client, plural, selection, namespace))

    def namespace(self) -> str:
        """Return the namespace of the context, or of the pod that this runs in; empty without."""
        try:
            return namespace(self.options)
        except ConnectionSettingsError as error:
            raise Unusable(str(error)) from error


@asynccontextmanager
async def client_of(options: ConnectionOptions) -> AsyncIterator[Client]:
    """Connect to the API server; raise Unusable where the settings do not say to which."""
    with explained():
        credentials = Credentials(options)
    async with Client(credentials, options.request_timeout) as client:
        yield client


@contextmanager
def explained() -> Iterator[None]:
    """Raise Unusable for what goes wrong between here and the API server."""
    try:
        yield
    except ValueError as error:
        raise Unusable(str(error)) from error
    except TimeoutError:
        raise  # an OSError as well, but that of a question's own time limit
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise Unusable(f"{name}{error.strerror or error}") from error
    except (ApiError, ConnectionSettingsError, NotServedError) as error:
        raise Unusable(str(error)) from error


def context_name(kubeconfig: Path | None) -> str:
    """Return the name of the current context; empty without a kubeconfig."""
    try:
        return load(kubeconfig).current
    except ConnectionSettingsError:
        return ""


_CORE = ("namespaces", "nodes", "pods")


async def selected(
    client: Client, plural: str, selection: ObjectSelection, namespace: str = ""
) -> frozenset[str]:
    """Return the objects that a label selector and a field selector select.

    Args:
        client: The connection.
        plural: Kind of the objects.
        selection: The selectors.
        namespace: The only one that is looked at; empty for all.

    Returns:
        Names, or `namespace/name`; none where the kind is not served.

    Raises:
        ApiError: A selector is malformed, or the objects may not be listed.
    """
    resource: Resource | None = Resource("", "v1", plural)
    if plural not in _CORE:
        versions = OPTIONAL_VERSIONS if plural == "devicetaintrules" else DRA_VERSIONS
        # DeviceClasses have no status.
        resource = await find_resource(client, DRA_GROUP, versions, plural, status=False)
    if resource is None:
        return frozenset()
    # Pods that have ended need no devices, and are read by no command.
    fields = ",".join(filter(None, (selection.fields, ENDED if plural == "pods" else "")))
    given = {"labelSelector": selection.labels, "fieldSelector": fields}
    wanted = {name: value for name, value in given.items() if value}
    return frozenset(
        [
            "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"])))
            async for one in items(client, resource.path(namespace), **wanted)
        ]
    )
