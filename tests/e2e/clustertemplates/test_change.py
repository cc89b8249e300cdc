"""One change of a template under starting pods loses no pod, however many namespaces there are.

`make test-cluster-templates` runs it with 500 namespaces and 200 pods, and prints how long the
copies took; `make test` runs a fraction.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.e2e.clustertemplates.worlds import World, cluster_template, install
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.components import StockController
from tests.support.controlplane.plane import ControlPlane

NAMESPACES = int(os.environ.get("DRAGOMAN_NAMESPACES") or 40)
PODS = 200 if NAMESPACES >= 500 else NAMESPACES
OTHER_CLASS = "other.example.com"


@pytest.fixture(scope="module", params=["own", pytest.param("stock", marks=pytest.mark.slow)])
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Run a control plane; with `stock`, kube-controller-manager creates the claims."""
    stock = StockController(qps=500, burst=1000) if request.param == "stock" else None
    with ControlPlane(stock_controller=stock, garbage_collector=stock is not None) as running:
        install(running)
        claims = "off" if stock else "own"
        user = running.user("dragoman", OPERATOR_RULES)
        with OperatorProcess(
            running, user, f"--claims={claims}", "--cluster-templates"
        ) as operator:
            yield running
            assert operator.faults() == []


def test_one_change_under_starting_pods_loses_none(plane: ControlPlane) -> None:
    world = World(plane.api(), "many")
    spaces = world.add_namespaces(NAMESPACES)
    began = time.monotonic()
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(NAMESPACES, timeout=120)
    print(f"\n{NAMESPACES} namespaces have a copy after {time.monotonic() - began:.1f} s")
    changing = threading.Thread(target=change_when, args=(world, PODS // 4, spaces))
    changing.start()
    for index in range(PODS):
        world.api.create(
            objects.pod(f"pod-{index}", spaces[index % len(spaces)], templates={"gpu": world.name})
        )
    began = time.monotonic()
    changing.join()
    claims = wait_for(lambda: claims_by_pod(world, PODS), 120, f"claims of {PODS} pods")
    world.distributed(NAMESPACES, timeout=120)
    print(f"changed in every namespace after {time.monotonic() - began:.1f} s")
    classes = Counter(map(class_of, claims.values()))
    print(f"claims by class: {dict(classes)}")
    assert set(classes) <= {NO_CLASS, OTHER_CLASS}
    assert {class_of(one) for one in world.copies().values()} == {OTHER_CLASS}
    assert len(world.api.list("resourceclaims")) == PODS


def change_when(world: World, pods: int, spaces: list[str]) -> None:
    """Change the template when so many pods are there."""
    wait_for(
        lambda: world.api.find("pods", f"pod-{pods}", spaces[pods % len(spaces)]),
        message="the first pods",
        every=0.01,
    )
    world.change(OTHER_CLASS)


def claims_by_pod(world: World, pods: int) -> dict[str, Json] | None:
    """Return the claim of each pod by its name, as soon as every pod's status names one."""
    claims = {one["metadata"]["name"]: one for one in world.api.list("resourceclaims")}
    found = {}
    for pod in world.api.list("pods"):
        published = pod["status"].get("resourceClaimStatuses")
        if published and published[0]["resourceClaimName"] in claims:
            found[pod["metadata"]["name"]] = claims[published[0]["resourceClaimName"]]
    return found if len(found) == pods else None


def class_of(one: Json) -> str:
    """Return the device class that a claim, or a template, asks for."""
    spec = one["spec"].get("spec", one["spec"])
    name: str = spec["devices"]["requests"][0]["exactly"]["deviceClassName"]
    return name
