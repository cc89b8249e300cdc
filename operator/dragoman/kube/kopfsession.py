"""The login of kopf's own watches, in processes that kopf runs."""

import aiohttp
import kopf

from dragoman.kube.kubeconfig import Credentials


def kopf_session(credentials: Credentials) -> kopf.AiohttpSession:
    """Return a session of which each request carries a fresh token; kopf closes it."""

    async def authorize(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        header = await credentials.authorization()
        if header is not None:
            request.headers["Authorization"] = header
        request.headers.extend(credentials.impersonation)
        return await handler(request)

    connector = aiohttp.TCPConnector(limit=0, ssl=credentials.ssl_context())
    session = aiohttp.ClientSession(connector=connector, middlewares=(authorize,))
    return kopf.AiohttpSession(server=credentials.server, aiohttp_session=session)
