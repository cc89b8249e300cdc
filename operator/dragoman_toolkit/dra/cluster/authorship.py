"""Who the API server takes the user of a command for."""

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError

_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def author(client: Client) -> str:
    """Return the user name of the connection; empty where the API server does not say."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = await client.post(_REVIEWS, body)
    except ApiError:
        return ""
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username") or "")
