"""The login of kopf's own watches, in processes that kopf runs."""

import aiohttp
import kopf

from dragoman.kube.http.tunnel import proxy_of
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials


def kopf_session(credentials: Credentials) -> kopf.AiohttpSession:
    """Return a session of which each request carries a fresh token; kopf closes it.

    aiohttp knows proxies of http and https; through one of socks5 each request fails.
    """
    by_socks = bool(credentials.proxy) and proxy_of(credentials.proxy).scheme == "socks5"

    async def authorize(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if by_socks:
            raise ConnectionSettingsError(
                "clusters[].cluster.proxy-url: kopf's own watches go through proxies of http and "
                "https only: run `dragoman operator`, which has none"
            )
        header = await credentials.authorization()
        if header is not None:
            request.headers["Authorization"] = header
        request.headers.extend(credentials.impersonation)
        return await handler(request)

    connector = aiohttp.TCPConnector(limit=0, ssl=credentials.ssl_context())
    session = aiohttp.ClientSession(
        connector=connector,
        middlewares=(authorize,),
        proxy=None if by_socks else credentials.proxy or None,
    )
    return kopf.AiohttpSession(server=credentials.server, aiohttp_session=session)
