"""The TLS context of connections, reloaded while CA and client certificate files rotate."""

import ssl
from pathlib import Path

from dragoman.kube.kubeconfig import Credentials
from dragoman.logs import logger

log = logger("dragoman.credentials")

State = tuple[str, int, int, int]


class ReloadingTLSContext:
    """A TLS context that is reloaded when its files have changed.

    Args:
        credentials: They name the files, and make a context of them.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._context: ssl.SSLContext | None = None
        self._made_of: list[State] | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the context of a handshake: the same object while the files do not change.

        None for a server without TLS. While files cannot be read, as a certificate whose key is
        not written yet, the earlier context stays, and the next call reads them again.

        Raises:
            OSError: The files cannot be read, and never could.
        """
        made_of = [_state(path) for path in self._credentials.certificate_files]
        if made_of != self._made_of:
            try:
                context = self._credentials.ssl_context()
            except OSError as error:
                if self._made_of is None:
                    raise
                log.warning("Cannot read certificates; keeping the old ones", error=str(error))
            else:
                self._context = context if isinstance(context, ssl.SSLContext) else None
                self._made_of = made_of
        return self._context


def _state(path: str) -> State:
    try:
        found = Path(path).stat()
    except OSError:
        return path, 0, 0, 0
    return path, found.st_ino, found.st_mtime_ns, found.st_size
