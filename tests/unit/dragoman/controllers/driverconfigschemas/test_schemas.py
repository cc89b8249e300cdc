"""The status of a DriverConfigSchema is written although users change the object meanwhile."""

from typing import Any

import pytest

from dragoman.controllers.context import Context
from dragoman.controllers.driverconfigschemas.schemas import CONFLICTS, Schemas
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.store import StoredObject
from tests.support.apiserver import ApiServer, Place

NAME = "gpu.example.com"


def document(uid: str, version: str) -> dict[str, Any]:
    return {"metadata": {"name": NAME, "uid": uid, "resourceVersion": version}}


class Server(ApiServer):
    """Has one schema, which a user changes ahead of some of the writes."""

    def __init__(self, uid: str = "first", changes: int = 0) -> None:
        super().__init__()
        self.store({"kind": "DriverConfigSchema", **document(uid, "1")})
        self.changes = changes
        self.fail = self._changed

    def _changed(self, request: str, _: Place) -> None:
        if request.startswith("PATCH") and self.changes:
            self.changes -= 1
            self.store(self.schema)

    @property
    def schema(self) -> dict[str, Any]:
        (stored,) = self.of("driverconfigschemas")
        return stored


async def write(server: Server) -> Schemas:
    context = Context(server, EventRecorder(server))
    schemas = Schemas(context, lambda _: None)
    known = StoredObject.parse(document("first", server.schema["metadata"]["resourceVersion"]))
    schemas.objects.put(known)
    await schemas.write_status(known, {"configs": 1})
    return schemas


def known(schemas: Schemas, server: Server) -> tuple[str, object]:
    """Return UID and status of the schema as it is stored, the same on both sides."""
    found = schemas.objects.get("", NAME)
    assert found == StoredObject.parse(server.schema)
    return found.metadata.uid, found.document.get("status")


async def test_a_status_is_written_in_the_version_that_is_stored() -> None:
    server = Server()
    schemas = await write(server)
    assert len(server.written) == 1
    assert known(schemas, server) == ("first", {"configs": 1})


async def test_a_status_is_written_after_a_conflict_with_another_write() -> None:
    server = Server(changes=1)
    schemas = await write(server)
    assert len(server.written) == 2
    assert known(schemas, server) == ("first", {"configs": 1})


async def test_a_schema_that_was_created_anew_does_not_get_the_status_of_the_old_one() -> None:
    server = Server("second", changes=1)
    schemas = await write(server)
    assert len(server.written) == 1
    assert known(schemas, server) == ("second", None)


async def test_a_schema_that_keeps_changing_is_tried_again_later() -> None:
    server = Server(changes=CONFLICTS)
    with pytest.raises(ApiError, match="keeps changing"):
        await write(server)
    assert len(server.written) == CONFLICTS
