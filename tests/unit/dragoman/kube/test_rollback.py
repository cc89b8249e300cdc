"""After a restore of etcd from a backup, every store takes older states of all objects."""

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.controllers.clustertemplates.controller import ClusterTemplateController
from dragoman.controllers.context import Context
from dragoman.controllers.driverconfigschemas.schemas import Schemas
from dragoman.controllers.maintenance.view import ClusterView
from dragoman.kube.discovery import Served
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.model.template import Template
from tests.unit.dragoman.controllers.clustertemplates.test_controller import cluster_template

CLIENT: Any = None
RECORDER: Any = None
SERVED = Served(
    Resource("resource.k8s.io", "v1", "resourceclaims"),
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates"),
    None,
)


def templates() -> Informer[Template]:
    return Informer(CLIENT, SERVED.templates, Template.parse)


def cluster_templates() -> Informer[Any]:
    return ClusterTemplateController(Context(CLIENT, RECORDER), templates()).informers[0]


@pytest.mark.parametrize(
    "informer",
    [
        pytest.param(templates, id="templates"),
        pytest.param(cluster_templates, id="cluster templates"),
        pytest.param(
            lambda: Schemas(Context(CLIENT, RECORDER), lambda _: None).informer, id="schemas"
        ),
        pytest.param(lambda: ClusterView(CLIENT, SERVED.claims).claims, id="claims of a drain"),
        pytest.param(lambda: ClusterView(CLIENT, SERVED.claims).pods, id="pods of a drain"),
    ],
)
def test_objects_that_were_deleted_or_changed_after_the_backup_are_as_they_were(
    informer: Callable[[], Informer[Any]],
) -> None:
    one = informer()
    for name in ("deleted", "changed"):
        one.handle({"type": "ADDED", "object": cluster_template(name, 900)})
    one.handle({"type": "DELETED", "object": cluster_template("deleted", 901)})
    one.roll_back()
    for name in ("deleted", "changed"):
        one.handle({"type": "ADDED", "object": cluster_template(name, 400)})
    versions = {fact.metadata.name: fact.metadata.resource_version for fact in one.store}
    assert versions == {"deleted": "400", "changed": "400"}
