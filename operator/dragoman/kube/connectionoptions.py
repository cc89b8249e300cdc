"""What a user may say about the connection to an API server: every option of it, once.

Commands make their flags from the fields, `credentials.files` and `kubeconfig` apply them: a new
option is a field here, and a line where it counts.
"""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
FLAG = "flag"
"""Where the metadata of a field has its flag."""


class Flag(NamedTuple):
    """How an option is given to a command."""

    names: tuple[str, ...]  # Such as `-s` and `--server`
    metavar: str | None  # What stands for the value in `--help`; None for what its type is called
    text: str  # What it does, for `--help`
    completes: str = ""  # What a shell offers for it, such as `contexts`


def _option(default: T, *flag: Any, shown: bool = True) -> T:
    return field(default=default, metadata={FLAG: Flag(*flag)}, repr=shown)


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The options; one that is empty or None stands for what the kubeconfig says."""

    kubeconfig: Path | None = _option(
        None,
        ("--kubeconfig",),
        None,
        "Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    )
    context: str | None = _option(
        None,
        ("--context",),
        "NAME",
        "Context of the kubeconfig; by default its current one.",
        "contexts",
    )
    cluster: str | None = _option(
        None,
        ("--cluster",),
        "NAME",
        "Cluster of the kubeconfig; by default that of the context.",
        "clusters",
    )
    user: str | None = _option(
        None,
        ("--user",),
        "NAME",
        "User of the kubeconfig; by default that of the context.",
        "users",
    )
    server: str | None = _option(
        None, ("-s", "--server"), "URL", "API server; by default the cluster's."
    )
    tls_server_name: str = _option(
        "",
        ("--tls-server-name",),
        "NAME",
        "Name that the server's certificate must have; by default the host of its URL.",
    )
    token: str | None = _option(
        None, ("--token",), "TOKEN", "Bearer token; by default what the user has.", shown=False
    )
    acting_as: str = _option("", ("--as",), "USER", "User to impersonate.")
    acting_groups: tuple[str, ...] = _option((), ("--as-group",), "GROUP", "Group as well.")
    acting_uid: str = _option("", ("--as-uid",), "UID", "UID of the --as user.")
    request_timeout: float = _option(
        0.0,
        ("--request-timeout",),
        "DURATION",
        "Longest time for one request, such as 5s; 0 for 30s.",
    )

    @property
    def name_nothing(self) -> bool:
        """Whether they leave it to the surroundings of the process which server is meant."""
        named = (self.kubeconfig, self.context, self.cluster, self.user, self.server, self.token)
        return all(one is None for one in named)


FLAGS: dict[str, Flag] = {one.name: one.metadata[FLAG] for one in fields(ConnectionOptions)}
"""The flag of each option."""
