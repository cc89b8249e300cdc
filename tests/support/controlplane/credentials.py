"""Everything by which the parts and users of one control plane prove who they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import Api
from tests.support.controlplane.certificates import Authority, KeyPairPaths, signing_keys
from tests.support.controlplane.network import Place
from tests.support.controlplane.tokens import Issuer


@dataclass(frozen=True, slots=True)
class User:
    """Somebody whom the API server knows by a token.

    Attributes:
        name: The user as audit records and RBAC subjects spell it.
        token: A bearer token.
        kubeconfig: Path of a kubeconfig that uses the token.
    """

    name: str
    token: str
    kubeconfig: str


@dataclass(frozen=True, slots=True)
class Keys:
    """The files that prove who is who.

    Attributes:
        authority: Certificate of the authority that signed all others.
        serving: What servers show.
        client: What the API server shows to kubelets.
        accounts: The bare key that signs ServiceAccount tokens.
    """

    authority: Path
    serving: KeyPairPaths
    client: KeyPairPaths
    accounts: KeyPairPaths


class Credentials:
    """Issue certificates, tokens and kubeconfigs for one API server.

    Args:
        folder: Where `keys/` and `users/` are made.
        server: URL of the API server.
        issuer_port: Port of the token issuer, which serves inside a `with` block.
        place: Where the servers listen.
        hosts: Names and addresses by which they are called.
    """

    def __init__(
        self, folder: Path, server: str, issuer_port: int, place: Place, hosts: tuple[str, ...]
    ) -> None:
        self.server = server
        self._users, keys = folder / "users", folder / "keys"
        self._users.mkdir()
        keys.mkdir()
        self.authority = Authority(keys)
        self.issuer = Issuer(self.authority, issuer_port, place)
        self.keys = Keys(
            self.authority.certificate,
            self.authority.serving("server", hosts),
            self.authority.client("kube-apiserver"),
            signing_keys(keys, "service-accounts"),
        )

    def __enter__(self) -> Self:
        """Serve the key of the tokens."""
        self.issuer.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving it."""
        self.issuer.__exit__()

    def by_certificate(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """Write a kubeconfig of a user whom a client certificate names."""
        pair = self.authority.client(user, groups)
        return kubeconfig.with_certificate(
            self._path(user), self.server, self.authority.certificate, pair
        )

    def by_token(self, user: str, token: str) -> User:
        """Write a kubeconfig of a user whom a token names."""
        path = kubeconfig.with_token(
            self._path(user), self.server, self.authority.certificate, token
        )
        return User(user, token, str(path))

    def client(
        self, server: str | None = None, *, pair: KeyPairPaths | None = None, token: str = ""
    ) -> Api:
        """Return a client of the API server, or of another server of the same authority."""
        return Api(server or self.server, self.authority.certificate, pair=pair, token=token)

    def _path(self, user: str) -> Path:
        return self._users / f"{user.replace(':', '-')}.kubeconfig"
