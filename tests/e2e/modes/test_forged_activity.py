"""Tenants that write like another claim controller: help for others goes on."""

import time
from collections.abc import Callable
from statistics import median

import pytest

from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.metered import Metered
from tests.e2e.setup import ANNOTATION, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.tenants import Repeatedly, tenant

pytestmark = pytest.mark.hostile("forged objects")
GRACE = 2.0
HONEST = 5
STOCK = "ResourceClaimController"
"""The field manager of the built-in controller."""

Forge = Callable[[int], object]


def labels(api: Api, pod: Json) -> Forge:
    """Patch a label of an own pod in the name of the built-in controller."""
    meta = pod["metadata"]

    def patch(turn: int) -> object:
        body = {"metadata": {"labels": {"turn": str(turn)}}}
        return api.patch("pods", meta["name"], meta["namespace"], body, fieldManager=STOCK)

    return patch


def claims(api: Api, pod: Json) -> Forge:
    """Create and delete a claim that says that it was generated for an own pod."""
    meta = pod["metadata"]
    owner = objects.owner_reference(pod | {"apiVersion": "v1", "kind": "Pod"})

    def create(turn: int) -> object:
        name = f"forged-{turn}"
        api.create(
            objects.claim(
                name,
                meta["namespace"],
                "any",
                annotations={ANNOTATION: "a"},
                ownerReferences=[owner],
            )
        )
        return api.delete("resourceclaims", name, meta["namespace"])

    return create


def taking_over(setup: Setup, make_operator: MakeOperator) -> Metered:
    """Return an operator that has become the claim controller."""
    operator = make_operator("auto", grace=GRACE, takeover_after=4)
    setup.apply(setup.template(), *(setup.pod(f"first-{number}") for number in range(3)))
    operator.becomes("own", 60)
    return operator


def served(setup: Setup, count: int) -> list[float]:
    """Create honest pods one after the other; return after how many seconds each had its claim."""
    waited = []
    for number in range(count):
        name = f"honest-{time.monotonic_ns()}-{number}"
        began = time.monotonic()
        setup.api.create(setup.pod(name))
        setup.published(name)
        waited.append(time.monotonic() - began)
    return waited


def test_one_namespace_cannot_end_the_help_for_others(
    setup: Setup, make_operator: MakeOperator
) -> None:
    operator = taking_over(setup, make_operator)
    calm = served(setup, HONEST)
    elsewhere = setup.plane.create_namespace("forger")
    api = tenant(setup.plane, elsewhere)
    pod = api.create(objects.pod("own", elsewhere, templates={"a": "missing"}))
    for sign in (labels, claims):
        with Repeatedly(sign(api, pod), every=0.3) as forging:
            forged = served(setup, HONEST)
            assert operator.mode == "own"
            print(
                f"\n{forging.done} forged {sign.__name__}: {median(calm):.2f} s calm, "
                f"{median(forged):.2f} s beside them"
            )
    setup.plane.clear_namespace(elsewhere)


def test_three_namespaces_of_a_forger_delay_others_by_a_grace_at_most(
    setup: Setup, make_operator: MakeOperator
) -> None:
    operator = taking_over(setup, make_operator)
    places = [setup.plane.create_namespace("forger") for _ in range(3)]
    forgers = []
    for place in places:
        api = tenant(setup.plane, place)
        forgers.append(labels(api, api.create(objects.pod("own", place, templates={"a": "no"}))))
    with Repeatedly(lambda turn: [forge(turn) for forge in forgers], every=0.3):
        operator.becomes("assist")
        waited = served(setup, 3)
        assert operator.mode == "assist"
    print(f"\nforged in three namespaces: {max(waited):.1f} s of {2 * GRACE:g}")
    for place in places:
        setup.plane.clear_namespace(place)


def test_a_pod_that_the_built_in_controller_fails_is_helped_while_others_keep_it_busy(
    setup: Setup, make_operator: MakeOperator
) -> None:
    """One entry without its template: the built-in controller publishes no claim of such a pod."""
    plane = setup.plane
    operator = make_operator("assist", grace=GRACE)
    plane.start_stock_controller(UNTHROTTLED)
    busy = plane.create_namespace("busy")
    plane.api().create(plane.served(objects.template("template", busy, "any")))

    def create(turn: int) -> object:
        return plane.api().create(objects.pod(f"pod-{turn}", busy, templates={"a": "template"}))

    with Repeatedly(create, every=0.5) as traffic:
        wait_for(
            lambda: plane.api().get("pods", "pod-0", busy)["status"].get("resourceClaimStatuses"),
            message="the built-in controller to work",
        )
        before, began = traffic.done, time.monotonic()
        setup.apply(setup.template(), setup.pod(templates={"a": "template", "b": "missing"}))
        setup.published()
        waited = time.monotonic() - began
        assert traffic.done > before
    assert operator.mode == "assist"
    print(f"\nhelped after {waited:.1f} s of {2 * GRACE:g}, beside {traffic.done} busy pods")
    plane.clear_namespace(busy)
