"""Which schemas are active: several per driver, broken ones, switched off ones."""

from typing import Any

from dragoman_configs.compile.registry import (
    MAX_COMPILED_BYTES,
    RegisteredSchema,
    Registry,
    register,
)
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.status import status
from dragoman_configs.review.validation import validate_configs
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import DRIVER, KIND

STRING = {"type": "string"}
NUMBER = {"type": "integer"}
BROKEN = builders.config({"v": {"type": "strin"}})


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


def answers(registry: Registry, parameters: Any) -> list[str]:
    claim = builders.claim(builders.entry(parameters))
    return [str(v.error) for v in validate_configs(registry, "ResourceClaim", claim).denials]


def test_a_generation_that_does_not_compile_leaves_the_last_good_one_active() -> None:
    state = registered(generation(1, builders.config({"v": STRING})), generation(2, BROKEN))
    assert state.active
    assert state.active.generation == 1
    registry = Registry().with_object(state)
    assert answers(registry, {**KIND, "v": "x"}) == []
    assert answers(registry, {**KIND, "v": 1}) != []


def test_a_better_generation_takes_over() -> None:
    state = registered(
        generation(1, builders.config({"v": STRING})),
        generation(2, BROKEN),
        generation(3, builders.config({"v": NUMBER})),
    )
    assert answers(Registry().with_object(state), {**KIND, "v": 1}) == []


def test_an_object_that_was_deleted_and_made_again_has_no_last_good_generation() -> None:
    state = registered(
        generation(1, builders.config({"v": STRING})), generation(1, BROKEN, uid="2")
    )
    assert state.active is None
    assert state.broken


def test_without_a_good_generation_new_entries_are_refused_naming_the_schema() -> None:
    registry = Registry().with_object(registered(generation(1, BROKEN)))
    [answer] = answers(registry, {**KIND, "v": "x"})
    assert answer.startswith(
        "spec.devices.config[0]: Internal error: DriverConfigSchema gpu.example.com"
    )


def test_a_broken_object_does_not_decide_about_other_drivers() -> None:
    other = builders.schema(BROKEN, name="other", driver="other.example.com")
    registry = Registry.of([builders.schema(builders.config({"v": STRING})), other])
    assert answers(registry, {**KIND, "v": "x"}) == []


def test_a_broken_addition_leaves_kinds_to_the_object_that_lists_them() -> None:
    addition = builders.schema({**BROKEN, "kind": "Other"}, name="addition")
    registry = Registry.of([builders.schema(builders.config({"v": STRING})), addition])
    assert answers(registry, {**KIND, "v": "x"}) == []
    assert "does not compile" in answers(registry, {**KIND, "kind": "Other"})[0]
    assert "does not compile" in answers(registry, {**KIND, "kind": "Third"})[0]


def test_the_mode_of_a_broken_generation_counts_since_it_is_the_way_out() -> None:
    good = generation(1, builders.config({"v": STRING}))
    warned = registered(good, generation(2, BROKEN, mode="Warn"))
    assert warned.active
    assert warned.active.mode == "Warn"
    off = registered(good, generation(2, BROKEN, mode="Off"))
    assert off.active is None
    assert not off.broken
    assert answers(Registry().with_object(off), {**KIND, "v": 1}) == []


def test_of_two_objects_with_the_same_kind_the_older_decides() -> None:
    old = builders.schema(builders.config({"v": STRING}), name="z-old")
    new = builders.schema(builders.config({"v": NUMBER}), name="a-new")
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    registry = Registry.of([new, old])
    assert answers(registry, {**KIND, "v": "x"}) == []
    assert registry.conflicts("z-old") == ()
    [conflict] = registry.conflicts("a-new")
    assert (conflict.title, conflict.winner) == ("example.com/v1 Config", "z-old")


def test_of_two_objects_of_one_age_the_first_name_decides() -> None:
    one = builders.schema(builders.config({"v": STRING}), name="a")
    two = builders.schema(builders.config({"v": NUMBER}), name="b")
    for order in ([one, two], [two, one]):
        assert answers(Registry.of(order), {**KIND, "v": "x"}) == []


def test_two_objects_of_one_driver_add_up() -> None:
    one = builders.schema(builders.config({"v": STRING}), name="a")
    two = builders.schema({**builders.config({"w": STRING}), "kind": "More"}, name="b")
    registry = Registry.of([one, two])
    assert answers(registry, {**KIND, "v": "x"}) == []
    assert answers(registry, {**KIND, "kind": "More", "w": "x"}) == []
    assert 'supported values: "Config", "More"' in answers(registry, {**KIND, "kind": "None"})[0]


def test_an_object_that_is_removed_decides_nothing_any_more() -> None:
    registry = builders.registry(builders.schema(builders.config({"v": STRING})))
    assert answers(registry.without(DRIVER), {**KIND, "v": 1}) == []
    assert registry.without("unheard of").objects == registry.objects


def test_an_unchanged_object_is_not_compiled_again() -> None:
    state = registered(generation(1, builders.config({"v": STRING})))
    assert register(parse(generation(1, builders.config({"v": STRING}))), state) is state


def bulky(number: int, patterns: int = 400) -> dict[str, Any]:
    """Make a schema that takes 50 MiB, as estimated, when its patterns meet many texts."""
    fields = {f"f{n}": {**STRING, "pattern": f"^a{n}"} for n in range(patterns)}
    document = builders.schema(
        builders.config(fields), name=f"bulky-{number}", driver=f"d{number}.io"
    )
    document["metadata"]["generation"] = 1
    return document


def test_a_schema_beyond_the_memory_of_all_is_refused_and_its_status_says_so() -> None:
    registry = Registry.of([bulky(1), bulky(2), bulky(3)])
    one, two, three = (registry.objects[f"bulky-{n}"] for n in (1, 2, 3))
    assert one.active
    assert two.active
    assert three.active is None
    [ready, _] = status(registry, "bulky-3", {}, "2026-01-01T00:00:00Z")["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "NotCompiled")
    assert "of 128 MiB" in ready["message"]
    assert sum(r.active.memory for r in registry.objects.values() if r.active) <= MAX_COMPILED_BYTES


def test_a_refused_schema_is_compiled_when_others_leave_enough_memory() -> None:
    registry = Registry.of([bulky(1), bulky(2), bulky(3)])
    assert registry.fitting() == ()
    registry = registry.without("bulky-1")
    assert registry.fitting() == ("bulky-3",)
    before = registry.objects["bulky-3"]
    again = register(before.parsed, before, registry.available_bytes("bulky-3"))
    assert again.active
    assert registry.with_object(again).fitting() == ()


def test_a_generation_beyond_the_memory_of_all_leaves_the_last_good_one_active() -> None:
    registry = Registry.of([bulky(1), bulky(2), bulky(3, 10)])
    grown = bulky(3)
    grown["metadata"]["generation"] = 2
    before = registry.objects["bulky-3"]
    after = register(parse(grown), before, registry.available_bytes("bulky-3"))
    assert after.active is before.active
    assert "leave" in after.compilation.errors[0].detail
