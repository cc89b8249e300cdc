"""The kubelet's last warning about a pod."""

import asyncio
from typing import Any, cast

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.model.metadata import Metadata
from dragoman_toolkit.dra.diagnosis.explanation import last_warning

POD = Metadata.parse({"metadata": {"name": "pod", "namespace": "ns", "uid": "u"}})


class Server:
    """Answers one list of Events, or refuses it."""

    def __init__(self, *events: dict[str, Any], code: int = 200) -> None:
        self.events = list(events)
        self.code = code
        self.asked: tuple[str, dict[str, str]] = ("", {})

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        self.asked = path, query
        if self.code != 200:
            raise ApiError(self.code, "", "forbidden")
        return {"items": self.events}


def said(server: Server) -> str:
    return asyncio.run(last_warning(cast(Client, server), POD))


def test_events_of_the_kubelet_are_read_in_the_namespace_of_the_pod() -> None:
    server = Server()
    assert said(server) == ""
    path, query = server.asked
    assert path == "/api/v1/namespaces/ns/events"
    assert {"involvedObject.uid=u", "source=kubelet"} <= {*query["fieldSelector"].split(",")}


def test_the_last_one_counts_whichever_time_it_has() -> None:
    old = {"message": "old", "lastTimestamp": "2026-11-22T11:00:00Z", "eventTime": None}
    new = {"message": "new", "lastTimestamp": None, "eventTime": "2026-11-22T11:30:00.000000Z"}
    assert said(Server(new, old)) == "new"


def test_a_user_without_the_right_to_list_events_gets_none() -> None:
    assert said(Server(code=403)) == ""
