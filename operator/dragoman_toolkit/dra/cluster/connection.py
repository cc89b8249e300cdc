"""The connection of users' commands: kubeconfig, context and impersonation as kubectl has them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from dragoman.cluster.reader import Reader
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import Client, items
from dragoman.kube.credentials.files import Choice, ConnectionSettingsError, load
from dragoman.kube.credentials.impersonation import impersonation_headers
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


class ServerOptions(Protocol):
    """The options that say which API server is called, and as whom."""

    @property
    def kubeconfig(self) -> Path | None:
        """File; None for the usual places."""

    @property
    def context(self) -> str | None:
        """Of the kubeconfig; None for its current one."""

    @property
    def cluster(self) -> str | None:
        """Of the kubeconfig; None for the context's."""

    @property
    def auth_info(self) -> str | None:
        """The user of the kubeconfig; None for the context's."""

    @property
    def server(self) -> str | None:
        """URL of the API server; None for the cluster's."""

    @property
    def token(self) -> str | None:
        """Bearer token; None for what the user has."""

    @property
    def request_timeout(self) -> float:
        """Seconds for one request; 0 for the client's own limits."""

    @property
    def user(self) -> str:
        """To impersonate; empty for none."""

    @property
    def uid(self) -> str:
        """Of the user to impersonate; empty for none."""

    @property
    def groups(self) -> tuple[str, ...]:
        """To impersonate."""


@dataclass
class UserCredentials(Credentials):
    """Credentials of a kubeconfig that act as another user, also after they were renewed."""

    user: str = ""  # To impersonate; empty for what the kubeconfig says
    groups: tuple[str, ...] = ()  # To impersonate
    uid: str = ""  # To impersonate

    def _load(self) -> None:
        super()._load()
        if (self.groups or self.uid) and not self.user:
            raise ConnectionSettingsError("--as-group and --as-uid need --as USER")
        if self.user:
            named = {"as": self.user, "as-groups": list(self.groups), "as-uid": self.uid}
            try:
                self.impersonation = impersonation_headers(named)
            except ValueError as error:
                raise ConnectionSettingsError(f"--as: {error}") from error


@dataclass(frozen=True, slots=True)
class ServerConnection:
    """Calls of the API server that the options name; each raises Unusable without an answer."""

    target: ServerOptions  # The options

    def call(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Ask what one answer takes."""

        async def ask() -> Answer:
            with explained():
                async with client_of(self.target) as client:
                    return await question(client)

        return asyncio.run(ask())

    def read(self, namespace: str, plurals: Iterable[str], progress: Progress) -> Snapshot:
        """Read objects; those of one namespace where the user may not list all."""
        return self.call(lambda client: Reader(client, namespace, progress).read(plurals))

    def selected(self, plural: str, selection: ObjectSelection, namespace: str) -> frozenset[str]:
        """Return the objects with labels and fields; empty stands for all namespaces."""
        return self.call(lambda client: selected(client, plural, selection, namespace))

    def namespace(self) -> str:
        """Return the namespace of the context, or of the pod that this runs in; empty without."""
        try:
            return namespace(Choice(self.target.kubeconfig, self.target.context))
        except ConnectionSettingsError as error:
            raise Unusable(str(error)) from error


@asynccontextmanager
async def client_of(target: ServerOptions) -> AsyncIterator[Client]:
    """Connect to the API server; raise Unusable where the settings do not say to which."""
    with explained():
        credentials = UserCredentials(
            *(target.kubeconfig, target.context, target.cluster, target.auth_info),
            server_option=target.server,
            token_option=target.token,
            user=target.user,
            groups=target.groups,
            uid=target.uid,
        )
    async with Client(credentials, target.request_timeout) as client:
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
