"""A small synchronous JSON client: dicts in, dicts out, errors that carry the API's reason."""

import asyncio
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import orjson
import urllib3

from dragoman.kube.http.tunnel import proxy_of
from dragoman.kube.kubeconfig import Credentials
from dragoman_drivers.throwaway.certificates import KeyPairPaths
from dragoman_drivers.throwaway.resources import DISCOVERY, Resource, names_of, resources

Json = dict[str, Any]
Objects = list[Json]
Result = TypeVar("Result")
CONNECTIONS = 16
DELETIONS = 5
"""Requests for the deletion of many objects."""
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """An answer of the API server that is no success.

    Attributes:
        code: HTTP status.
        reason: The Status object's reason, such as `AlreadyExists`.
        details: The Status object's details.
    """

    def __init__(self, code: int, status: Json) -> None:
        self.code = code
        self.reason = str(status.get("reason", ""))
        self.details: Json = status.get("details") or {}
        self.message = str(status.get("message", ""))
        super().__init__(f"{code} {self.reason}: {self.message}")


class Api:
    """Talk to one API server as one user; safe to use from several threads.

    Args:
        server: URL, without a slash at its end.
        authority: Certificate of the authority that signed the server's; the machine's when None.
        pair: A client certificate.
        token: A bearer token.
        trust: Instead of authority and pair.
        server_name: What the server's certificate is for; the host of the URL when empty.
        proxy: URL of a proxy of http or https that connections go through; none when empty.
        headers: Instead of the token: called for each request.
    """

    def __init__(  # noqa: PLR0913 — all but one have defaults
        self,
        server: str,
        authority: Path | None = None,
        *,
        pair: KeyPairPaths | None = None,
        token: str = "",
        trust: ssl.SSLContext | None = None,
        server_name: str = "",
        proxy: str = "",
        headers: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        keys = {"cert_file": str(pair.certificate), "key_file": str(pair.key)} if pair else {}
        known = {"ca_certs": str(authority)} if authority else {}
        self.server = server
        self._root = urlsplit(server).path.rstrip("/")
        manager = _through(proxy, trust) if proxy else urllib3.PoolManager()
        self._pool = manager.connection_from_url(
            server,
            {
                "maxsize": CONNECTIONS,
                "block": True,
                "retries": False,
                **({"ssl_context": trust} if trust else {}),
                **({"server_hostname": server_name} if trust and server_name else {}),
                **known,
                **keys,
            },
        )
        own = {"Authorization": f"Bearer {token}"} if token else {}
        self._headers = headers or (lambda: own)
        self._resources: dict[str, Resource] = {}

    @classmethod
    def of(cls, credentials: Credentials) -> Self:
        """Return a client of the API server that a kubeconfig or a pod's account names."""

        def headers() -> Mapping[str, str]:
            header = asyncio.run(credentials.authorization())
            found = dict(credentials.impersonation)
            return found | ({"Authorization": header} if header else {})

        trust = credentials.ssl_context()
        given = trust if isinstance(trust, ssl.SSLContext) else None
        server, name = credentials.server.rstrip("/"), credentials.server_name
        return cls(server, trust=given, server_name=name, proxy=credentials.proxy, headers=headers)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def request(  # noqa: PLR0913 — as above
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float = 60,
        **query: Any,
    ) -> Any:
        """Send one request and return the decoded answer.

        Raises:
            ApiError: The server answered with a status of 400 or more.
            urllib3.exceptions.HTTPError: There was no answer.
        """
        answer = self._pool.request(
            method,
            f"{self._root}{path}?{urlencode(query)}" if query else f"{self._root}{path}",
            body=None if body is None else orjson.dumps(body),
            headers=dict(self._headers()) | {"Content-Type": content_type, "Accept": accept},
            timeout=timeout,
        )
        if answer.status >= 400:
            raise ApiError(answer.status, status_of(answer.data))
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return orjson.loads(answer.data) if is_json else answer.data.decode()

    def stream(self, path: str, **query: Any) -> Iterator[bytes]:
        """Yield the lines of an answer that goes on, such as a watch's, without its length."""
        answer = self._pool.request(
            "GET",
            f"{self._root}{path}?{urlencode(query)}",
            headers=dict(self._headers()) | {"Accept": "application/json"},
            timeout=urllib3.Timeout(connect=10, read=None),
            preload_content=False,
        )
        try:
            rest = b""
            for part in answer.stream(amt=None):
                *lines, rest = (rest + part).split(b"\n")
                yield from filter(None, lines)
        finally:
            answer.close()

    def resource(self, name: str) -> Resource:
        """Find where a plural (`pods`, `leases.coordination.k8s.io`) or a kind is served.

        The server's preferred version is taken. A name that is not known yet is looked up again,
        so custom resources are found as soon as they are served.

        Raises:
            KeyError: The server knows no such resource.
        """
        if name not in self._resources:
            self._resources = {
                key: resource
                for resource in reversed(self.discover())
                for key in names_of(resource)
            }
        return self._resources[name]

    def discover(self) -> Sequence[Resource]:
        """List every resource that is served, the preferred version of a group first."""
        return [
            resource
            for root in ("/api", "/apis")
            for resource in resources(self.request("GET", root, accept=DISCOVERY))
        ]

    def get(self, resource: str, name: str, namespace: str | None = None) -> Json:
        """Read one object."""
        found: Json = self.request("GET", self.resource(resource).path(namespace, name))
        return found

    def find(self, resource: str, name: str, namespace: str | None = None) -> Json | None:
        """Read one object; None when there is none."""
        try:
            return self.get(resource, name, namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def list(self, resource: str, namespace: str | None = None, **query: Any) -> Objects:
        """Read all objects of a kind, in one namespace or in all."""
        where = self.resource(resource)
        items: Objects = self.request("GET", where.path(namespace), **query)["items"]
        return [{"apiVersion": where.api_version, "kind": where.kind} | item for item in items]

    def create(self, manifest: Mapping[str, Any], **query: Any) -> Json:
        """Create an object where its apiVersion, kind and namespace say."""
        path = self.home(manifest).path(manifest["metadata"].get("namespace"))
        created: Json = self.request("POST", path, manifest, **query)
        return created

    def create_many(self, manifests: Iterable[Mapping[str, Any]]) -> Objects:
        """Create many objects over all connections; the results keep the order."""
        return [*self.in_parallel(self.create, manifests)]

    def update(self, manifest: Mapping[str, Any], subresource: str = "", **query: Any) -> Json:
        """Replace an object or, with `subresource="status"`, its status (PUT)."""
        meta = manifest["metadata"]
        path = self.home(manifest).path(meta.get("namespace"), meta["name"], subresource)
        updated: Json = self.request("PUT", path, manifest, **query)
        return updated

    def patch(  # noqa: PLR0913 — as above
        self,
        resource: str,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        kind: str = "merge",
        subresource: str = "",
        **query: Any,
    ) -> Json:
        """Patch an object; `kind` is one of json, merge, strategic, apply."""
        path = self.resource(resource).path(namespace, name, subresource)
        patched: Json = self.request("PATCH", path, body, content_type=PATCHES[kind], **query)
        return patched

    def apply(self, manifest: Mapping[str, Any], manager: str = "test") -> Json:
        """Create or change an object by server-side apply."""
        meta = manifest["metadata"]
        path = self.home(manifest).path(meta.get("namespace"), meta["name"])
        applied: Json = self.request(
            "PATCH",
            path,
            manifest,
            content_type=PATCHES["apply"],
            fieldManager=manager,
            force="true",
        )
        return applied

    def delete(
        self, resource: str, name: str, namespace: str | None = None, **options: Any
    ) -> Json | None:
        """Delete an object; `options` are DeleteOptions. None when it was gone already."""
        path = self.resource(resource).path(namespace, name)
        try:
            deleted: Json = self.request("DELETE", path, options or None)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return deleted

    def delete_all(self, resource: str, namespace: str | None = None, **options: Any) -> None:
        """Delete every object of a kind in the namespace.

        The API server ends a request after a minute; the next one finds what is left.
        """
        path = self.resource(resource).path(namespace)
        for left in reversed(range(DELETIONS)):
            try:
                self.request("DELETE", path, options or None, timeout=300)
            except ApiError as error:
                if error.code != 504 or not left:
                    raise
            else:
                return

    def home(self, manifest: Mapping[str, Any]) -> Resource:
        """Return where a manifest belongs: in exactly the version that it names."""
        known = self.resource(manifest["kind"])
        if known.api_version == manifest["apiVersion"]:
            return known
        return self.resource(f"{manifest['kind']}.{manifest['apiVersion']}")

    def in_parallel(
        self, call: Callable[[Any], Result], arguments: Iterable[Any]
    ) -> Sequence[Result]:
        """Call a function for many arguments on as many threads as there are connections."""
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            return list(threads.map(call, arguments))


def _through(proxy: str, trust: ssl.SSLContext | None) -> urllib3.ProxyManager:
    """Return the pools of connections through a proxy; raise ValueError for one of socks5."""
    known = proxy_of(proxy)
    if known.scheme == "socks5":
        raise ValueError("clusters[].cluster.proxy-url: expected a proxy of http or https here")
    user, password = known.account or ("", "")
    headers = urllib3.make_headers(proxy_basic_auth=f"{user}:{password}") if user else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers, proxy_ssl_context=trust)


def status_of(body: bytes) -> Json:
    """Decode an error's Status object; any other text becomes the message."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    return status if isinstance(status, dict) else {"message": body.decode(errors="replace")}


def wait_for(
    look: Callable[[], Result | None], timeout: float = 120, message: str = "", every: float = 0.05
) -> Result:
    """Call `look` until it returns something true, and return that.

    Args:
        look: Any function; an ApiError 404 counts as "not yet".
        timeout: Seconds until the wait is given up.
        message: What is waited for, as the error names it.
        every: Seconds between two looks.

    Raises:
        TimeoutError: It never was; the message says what was seen last.
    """
    deadline = time.monotonic() + timeout
    seen: object = None
    while True:
        try:
            if seen := look():
                return seen
        except ApiError as error:
            if error.code != 404:
                raise
            seen = error
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:g} s for {message or look}; last seen: {seen!r}")
        time.sleep(every)
