"""The status of a DriverConfigSchema: conditions and errors."""

from typing import Any

from dragoman_configs.compile.registry import RegisteredSchema, Registry, register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review import status as schema_status
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import DRIVER, KIND

STRING = {"type": "string"}
NUMBER = {"type": "integer"}
BROKEN = builders.config({"v": {"type": "strin"}})
NOW = "2026-01-01T00:00:00Z"


def generation(number: int, *configs: Any, uid: str = "1", **spec: Any) -> dict[str, Any]:
    document = builders.schema(*configs, **spec)
    document["metadata"].update(generation=number, uid=uid)
    return document


def registered(*generations: dict[str, Any]) -> RegisteredSchema:
    """Install generations of one object after each other."""
    state: RegisteredSchema | None = None
    for document in generations:
        state = register(parse(document), state)
    assert state
    return state


def test_the_status_of_a_good_object() -> None:
    registry = builders.registry(builders.schema(builders.config({"v": STRING})))
    status = schema_status.status(registry, DRIVER, {}, NOW)
    assert status["observedGeneration"] == 1
    assert status["configsReady"] == "1/1"
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("Ready", "True", "Compiled"),
        ("Conflicting", "False", "NoConflict"),
    ]
    assert status["configs"] == [{**KIND, "compiled": True, "errors": []}]


def test_the_status_of_a_broken_object_names_the_place() -> None:
    state = registered(
        generation(1, builders.config({"v": STRING})),
        generation(2, builders.config({"v": STRING}), {**BROKEN, "kind": "Other"}),
    )
    status = schema_status.status(Registry().with_object(state), DRIVER, {}, NOW)
    assert status["configsReady"] == "1/2"
    [ready, _] = status["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "LastGoodGeneration")
    assert ready["message"].startswith("generation 1 stays active: spec.configs[1].schema.")
    assert status["configs"][1]["errors"][0].startswith(
        "spec.configs[1].schema.openAPIV3Schema.properties[v].type: Unsupported value"
    )


def test_an_unchanged_condition_keeps_its_time() -> None:
    registry = builders.registry(builders.schema(builders.config({"v": STRING})))
    before = schema_status.status(registry, DRIVER, {}, NOW)
    assert schema_status.status(registry, DRIVER, before, "2027-01-01T00:00:00Z") == before


def test_a_conflict_is_a_condition() -> None:
    one = builders.schema(builders.config({"v": STRING}), name="a")
    two = builders.schema(builders.config({"v": NUMBER}), name="b")
    [_, conflicting] = schema_status.status(Registry.of([one, two]), "b", {}, NOW)["conditions"]
    assert (conflicting["status"], conflicting["message"]) == (
        "True",
        "example.com/v1 Config is decided by a",
    )
