"""What the kubelet said last about a pod that it has not started."""

from collections.abc import Mapping
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.model.metadata import Metadata

KUBELET = "kubelet"
_TIMES = ("lastTimestamp", "eventTime")


async def last_warning(client: Client, pod: Metadata) -> str:
    """Return the kubelet's last warning about a pod; empty without one, or without rights.

    Args:
        client: The connection.
        pod: Identity of the pod.
    """
    path = f"/api/v1/namespaces/{pod.namespace}/events"
    # The scheduler warns about the same pod, and so does dragoman itself.
    selector = f"involvedObject.uid={pod.uid},type=Warning,source={KUBELET}"
    try:
        found = await client.get(path, fieldSelector=selector, limit="500")
    except ApiError:
        return ""
    latest: Mapping[str, Any] = max(found.get("items") or (), key=_time, default={})
    return str(latest.get("message") or "")


def _time(event: Mapping[str, Any]) -> str:
    return max(str(event.get(name) or "") for name in _TIMES)
