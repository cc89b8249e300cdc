"""Users of a namespace who write what looks like a copy, with another spec."""

import copy
from collections.abc import Callable

import pytest

from tests.e2e.clustertemplates.worlds import HASH, LABEL, TEMPLATES, World, cluster_template
from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.hostile import Tries, scaled

EVIL = "evil.example.com"


def another_class(forged: Json) -> None:
    """Ask for another class."""
    forged["spec"]["spec"] = objects.claim_spec(EVIL)


def another_count(forged: Json) -> None:
    """Ask for more than a default gives."""
    forged["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 7


def labels(forged: Json) -> None:
    """Label the claims."""
    forged["spec"]["metadata"] = {"labels": {"cost-center": "others"}}


def driver_config(forged: Json) -> None:
    """Give a driver parameters."""
    opaque = {"driver": "evil.example.com", "parameters": {"evil": True}}
    forged["spec"]["spec"]["devices"]["config"] = [{"opaque": opaque}]


def unlabeled(forged: Json) -> None:
    """Ask for another class, without the label of copies."""
    another_class(forged)
    del forged["metadata"]["labels"][LABEL]


def no_hash(forged: Json) -> None:
    """Ask for another class, without the hash of copies."""
    another_class(forged)
    del forged["metadata"]["annotations"][HASH]


SHAPES: tuple[Callable[[Json], None], ...] = (
    another_class,
    another_count,
    labels,
    driver_config,
    unlabeled,
    no_hash,
)


def forged(real: Json, shape: Callable[[Json], None]) -> Json:
    """Return a template with the name, owner and hash of a copy, and another spec."""
    made = copy.deepcopy(real)
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    made["metadata"] = {key: value for key, value in made["metadata"].items() if key in kept}
    shape(made)
    return made


@pytest.mark.hostile("copies")
def test_forged_copies_are_replaced_and_reported_until_then(world: World, tries: Tries) -> None:
    """Deletes the copy and creates a forged one in its place, again and again."""
    honest, attacked = world.add_namespaces(2)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(2)
    real = world.copies()[attacked]
    won = 0
    for number in range(scaled(60, least=12)):
        shape = SHAPES[number % len(SHAPES)]
        while not _placed(world, forged(real, shape)):
            pass
        won += 1
        wait_for(
            lambda: (stored := world.copy(attacked)) and stored["spec"] == real["spec"],
            message=f"the copy in place of a forged one: {shape.__name__}",
        )
    tries(won)
    world.distributed(2)
    assert world.copies()[honest]["spec"] == real["spec"]


def _placed(world: World, document: Json) -> bool:
    """Delete the copy and create another in its place; return whether that came first."""
    metadata = document["metadata"]
    try:
        world.api.delete(TEMPLATES, metadata["name"], metadata["namespace"])
    except ApiError as error:
        assert error.code == 404  # noqa: PT017 — any other answer is a fault of the test
    try:
        world.api.create(document)
    except ApiError as error:
        assert error.code == 409  # noqa: PT017 — as above
        return False
    return True


@pytest.mark.hostile("copies")
def test_a_forged_copy_with_a_finalizer_never_counts_as_current(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(1)
    document = forged(world.copies()[namespace], another_class)
    document["metadata"]["finalizers"] = ["example.com/stay"]
    while not _placed(world, document):
        pass
    wait_for(lambda: world.status().get("outdated") == 1, message="the copy to be missed")
    assert world.ready()["reason"] == "Distributing"
    world.api.patch(TEMPLATES, world.name, namespace, {"metadata": {"finalizers": []}})
    world.distributed(1)


@pytest.mark.hostile("copies")
def test_a_forged_copy_from_before_the_namespace_is_selected_is_replaced(world: World) -> None:
    """Owner and hash are read from the copy of another namespace, before the label selects it."""
    first, second = world.add_namespaces(2)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(2)
    real = world.copies()[first]
    world.label(second, "another")
    world.distributed(1)
    document = forged(real, another_class)
    document["metadata"]["namespace"] = second
    world.api.create(document)
    world.label(second, world.name)
    world.distributed(2)
    assert world.copies()[second]["spec"] == real["spec"]
