"""The checker of worlds refuses what no API server could hold, and nothing else."""

import pytest

from tests.unit.dragoman.claims.objects import Object, claim, foreign_consumer, group, pod, template
from tests.unit.dragoman.claims.worlds import ImpossibleWorldError, world

USER = pod().using("gpu", template="my-template")


@pytest.mark.parametrize(
    ("objects", "deleted", "complaint"),
    [
        pytest.param([pod("a"), pod("b", uid="uid-a")], (), "UID uid-a", id="one UID twice"),
        pytest.param([pod("a"), pod("a", uid="b")], (), "two objects are", id="one name twice"),
        pytest.param([pod("a")], ["uid-a"], "gone and there", id="a pod both gone and there"),
        pytest.param(
            [pod().using("gpu", claim="a").using("gpu", claim="b")],
            (),
            "two entries have the name gpu",
            id="two entries with one name",
        ),
        pytest.param(
            [pod().using("gpu", claim="a", template="b")],
            (),
            "names a claim and a template",
            id="an entry with both names",
        ),
        pytest.param(
            [pod().bound("gpu", "c")], (), "the status names gpu", id="a status without its entry"
        ),
        pytest.param(
            [claim("c").owned_by(pod())], (), "owner uid-test-pod never was", id="no such owner"
        ),
        pytest.param(
            [USER, claim("c", namespace="other").generated_for(USER, "gpu")],
            (),
            "another namespace",
            id="an owner across namespaces",
        ),
        pytest.param(
            [USER, claim("c").generated_for(USER, "nic")],
            (),
            "has no entry nic",
            id="a claim for no entry",
        ),
        pytest.param(
            [claim("c").reserved_for(foreign_consumer())],
            (),
            "reserved without an allocation",
            id="a reservation without devices",
        ),
        pytest.param(
            [
                claim("c")
                .allocated()
                .reserved_for(*(foreign_consumer(f"foo-{i}", f"uid-foo-{i}") for i in range(257)))
            ],
            (),
            "more than 256",
            id="257 consumers",
        ),
        pytest.param(
            [claim("c").allocated().reserved_for(foreign_consumer(), foreign_consumer())],
            (),
            "one consumer twice",
            id="one consumer twice",
        ),
        pytest.param(
            [claim("c").allocated().reserved_for(pod())],
            (),
            "consumer uid-test-pod never was",
            id="no such consumer",
        ),
        pytest.param(
            [claim("c").deleting()], (), "nothing keeps it", id="deleted without a finalizer"
        ),
    ],
)
def test_an_impossible_world_is_refused(
    objects: list[Object], deleted: list[str], complaint: str
) -> None:
    with pytest.raises(ImpossibleWorldError, match=complaint):
        world(*objects, deleted=deleted)


def test_a_podgroup_needs_an_api_server_that_has_them() -> None:
    with pytest.raises(ImpossibleWorldError, match="none are served"):
        world(group("g"), groups_served=False)


def test_a_full_world_passes() -> None:
    finished = pod("finished").using("gpu", claim="shared").in_phase("Succeeded")
    made = world(
        USER.bound("gpu", "c"),
        finished,
        template(),
        claim("c").generated_for(USER, "gpu").allocated().reserved_for(USER, foreign_consumer()),
        claim("shared").allocated().reserved_for(finished, pod("deleted")).deleting(),
        claim("orphan").owned_by(pod("deleted")),
        deleted=["uid-deleted"],
    )
    assert len(made.objects) == 6
