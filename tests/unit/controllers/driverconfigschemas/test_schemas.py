"""The status of a DriverConfigSchema is written although users change the object meanwhile."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from dragoman.controllers.driverconfigschemas.schemas import CONFLICTS, Schemas
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.store import StoredObject

NAME = "gpu.example.com"
PATH = f"/apis/dragoman.dev/v1alpha1/driverconfigschemas/{NAME}"


def document(uid: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": NAME, "uid": uid, "resourceVersion": str(version)}}


class Server:
    """Has one schema, which changes ahead of some of the writes."""

    def __init__(self, uid: str = "first", changes: int = 0) -> None:
        self.uid = uid
        self.changes = changes
        self.version = 2
        self.written: list[Mapping[str, Any]] = []

    async def get(self, path: str) -> dict[str, Any]:
        assert path == PATH
        return document(self.uid, self.version)

    async def patch(self, path: str, body: Mapping[str, Any], _: str) -> dict[str, Any]:
        assert path == f"{PATH}/status"
        if len(self.written) < self.changes:
            self.version += 1
        self.written.append(body)
        if body["metadata"] != {"resourceVersion": str(self.version)}:
            raise ApiError(409, "Conflict", path)
        self.version += 1
        return document(self.uid, self.version)


async def write(server: Server) -> Schemas:
    schemas = Schemas(cast(Client, server), lambda _: None)
    known = StoredObject.parse(document("first", 2))
    schemas.objects.put(known)
    await schemas.write_status(known, {"configs": 1})
    return schemas


async def test_a_status_is_written_in_the_version_that_is_stored() -> None:
    server = Server()
    schemas = await write(server)
    assert len(server.written) == 1
    assert schemas.objects.get("", NAME) == StoredObject.parse(document("first", 3))


async def test_a_status_is_written_after_a_conflict_with_another_write() -> None:
    server = Server(changes=1)
    schemas = await write(server)
    assert [one["metadata"]["resourceVersion"] for one in server.written] == ["2", "3"]
    assert schemas.objects.get("", NAME) == StoredObject.parse(document("first", 4))


async def test_a_schema_that_was_created_anew_does_not_get_the_status_of_the_old_one() -> None:
    server = Server("second", changes=1)
    schemas = await write(server)
    assert len(server.written) == 1
    assert schemas.objects.get("", NAME) == StoredObject.parse(document("second", 3))


async def test_a_schema_that_keeps_changing_is_tried_again_later() -> None:
    server = Server(changes=CONFLICTS)
    with pytest.raises(ApiError, match="keeps changing"):
        await write(server)
    assert len(server.written) == CONFLICTS
