"""Which copies and statuses of ClusterResourceClaimTemplates an event enqueues, and when."""

import asyncio
from typing import Any

import pytest

from dragoman.claims.clustertemplates.copies import copy_document
from dragoman.claims.clustertemplates.status import DISTRIBUTING, REFUSED
from dragoman.controllers.clustertemplates import controller as module
from dragoman.controllers.clustertemplates.controller import ClusterTemplateController, TemplateKey
from dragoman.controllers.context import Context
from dragoman.kube.discovery import Served
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.metrics import REGISTRY
from dragoman.model.clustertemplate import ClusterTemplate
from dragoman.model.template import Template
from tests.unit.dragoman.claims.clustertemplates.builders import SPEC, metadata

SERVED = Served(
    Resource("resource.k8s.io", "v1", "resourceclaims"),
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates"),
    None,
)
Json = dict[str, Any]


class Server:
    """Answers creations and keeps what was sent.

    Attributes:
        refusal: What creations are answered with, if anything.
        status_refusal: What statuses are answered with, if anything.
        statuses: The statuses that were written.
        version: Of the stored object; a status for another one is refused.
        deleted: UIDs of deleted templates.
        mutate: Namespace in which a webhook changes templates.
    """

    def __init__(self) -> None:
        self.refusal: ApiError | None = None
        self.status_refusal: ApiError | None = None
        self.posted: list[tuple[Json, bool, bool]] = []
        self.statuses: list[Json] = []
        self.version = "1"
        self.deleted: list[str] = []
        self.mutate = ""

    async def post(
        self, _path: str, body: Json, *, dry_run: bool = False, strict: bool = False
    ) -> Json:
        """Create a template, or refuse it."""
        self.posted.append((body, dry_run, strict))
        if self.refusal is not None:
            raise self.refusal
        name = body["metadata"].get("name") or body["metadata"]["generateName"] + "x4k2z"
        spec = body["spec"] | {"default": 1}
        if body["metadata"]["namespace"] == self.mutate:
            spec["mutated"] = True
        return body | {
            "spec": spec,
            "metadata": body["metadata"] | {"uid": "uid-new", "name": name},
        }

    async def delete(self, _path: str, options: Json) -> Json:
        """Delete a template."""
        self.deleted.append(options["preconditions"]["uid"])
        return {}

    def created(self, namespace: str) -> Json:
        """Return the last template that was created in a namespace, as the watch reports it."""
        made = [
            one
            for one, dry_run, _ in self.posted
            if not dry_run and one["metadata"]["namespace"] == namespace
        ]
        metadata = made[-1]["metadata"] | {"uid": "uid-new", "resourceVersion": "2"}
        return made[-1] | {"spec": made[-1]["spec"] | {"default": 1}, "metadata": metadata}

    async def patch(self, _path: str, body: Json, _kind: str) -> Json:
        """Keep a status."""
        if body["metadata"]["resourceVersion"] != self.version:
            raise ApiError(409, "Conflict", "the object has been modified")
        if self.status_refusal is not None:
            raise self.status_refusal
        self.statuses.append(body["status"])
        return await self.get("")

    async def get(self, _path: str, **_: str) -> Json:
        """Return the object."""
        return cluster_template("gpu", int(self.version))


class Setup:
    """A controller whose queue is open, without workers."""

    def __init__(self) -> None:
        self.server = Server()
        self.leading = True
        client: Any = self.server
        self.templates = Informer(client, SERVED.templates, Template.parse)
        self.controller = ClusterTemplateController(
            Context(client, EventRecorder(client), lambda: self.leading), self.templates
        )
        self.objects, self.namespaces = self.controller.informers
        self.queue = self.controller.queue
        self.queue.open()

    def namespace(self, name: str, **labels: str) -> None:
        """Report a namespace as the watch does."""
        self.namespaces.handle({"type": "ADDED", "object": {"metadata": named(name, labels)}})

    def template(self, name: str = "gpu", version: int = 1, **more: Any) -> None:
        """Report an object that selects `team: ml`."""
        self.objects.handle({"type": "ADDED", "object": cluster_template(name, version, **more)})

    def keys(self) -> list[TemplateKey]:
        """Return the keys that wait for a worker, and take them."""
        keys = [*self.queue._since]
        self.queue.close()
        self.queue.open()
        return sorted(keys)


def named(name: str, labels: Json | None = None) -> Json:
    return metadata(name, labels=labels or {}, resourceVersion="1")


def cluster_template(name: str = "gpu", version: int = 1, **more: Any) -> Json:
    return {
        "metadata": metadata(name, generation=1, resourceVersion=str(version)),
        "spec": {"namespaceSelector": {"matchLabels": {"team": "ml"}}, "template": SPEC},
        **more,
    }


async def test_a_namespace_enqueues_only_the_objects_that_concern_it() -> None:
    setup = Setup()
    setup.template("gpu")
    other = cluster_template("nic")
    other["spec"]["namespaceSelector"]["matchLabels"] = {"team": "web"}
    setup.objects.handle({"type": "ADDED", "object": other})
    left = copy_document(ClusterTemplate.parse(other), "a", "resource.k8s.io/v1")
    left["metadata"]["uid"] = "uid-left"
    setup.templates.handle({"type": "ADDED", "object": left})
    setup.keys()
    setup.namespace("a", team="ml")
    assert setup.keys() == [TemplateKey("copy", "gpu", "a"), TemplateKey("copy", "nic", "a")]
    setup.namespace("b", team="ml")
    assert setup.keys() == [TemplateKey("copy", "gpu", "b")]
    setup.namespace("b", team="none")
    assert setup.keys() == [TemplateKey("copy", "gpu", "b")]
    setup.namespace("b", team="others")
    assert setup.keys() == []


async def test_a_status_alone_ends_no_back_off_of_a_copy() -> None:
    setup = Setup()
    setup.namespace("a", team="ml")
    setup.template()
    setup.keys()
    setup.template(version=2, status={"outdated": 1})
    assert setup.keys() == []
    changed = cluster_template(version=3)
    changed["spec"]["conflict"] = "Replace"
    setup.objects.handle({"type": "MODIFIED", "object": changed})
    assert setup.keys() == [TemplateKey("all", "gpu")]
    await setup.controller.reconcile(TemplateKey("all", "gpu"))
    assert setup.keys() == [TemplateKey("copy", "gpu", "a")]


async def test_a_process_that_leads_no_more_counts_nothing() -> None:
    setup = Setup()
    setup.namespace("a", team="ml")
    setup.template()
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert counted("missing") == 1
    setup.leading = False
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert counted("missing") == 0


def counted(state: str) -> float | None:
    """Return how many namespaces the metrics count."""
    return REGISTRY.get_sample_value("dragoman_cluster_template_namespaces", {"state": state})


async def test_thousands_of_namespaces_do_not_keep_other_tasks_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "NAMESPACES_AT_ONCE", 10)
    setup = Setup()
    for index in range(100):
        setup.namespace(f"ns-{index}", team="ml")
    setup.template()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    counting.cancel()
    assert turns >= 10
    assert setup.server.statuses[-1]["outdated"] == 100


async def test_the_status_of_a_deleted_object_is_not_written_to_its_successor() -> None:
    setup = Setup()
    setup.template()
    setup.server.version = "5"
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert setup.server.statuses == []
    setup.template(version=5)
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert len(setup.server.statuses) == 1


@pytest.mark.parametrize("code", [404, 409])
async def test_a_refused_write_is_tried_again_unless_the_object_has_changed(code: int) -> None:
    setup = Setup()
    setup.template()
    setup.server.status_refusal = ApiError(code, "Confused", "as if it had changed")
    with pytest.raises(ApiError, match="as if it had changed"):
        await setup.controller.reconcile(TemplateKey("status", "gpu"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(
            ApiError(500, "InternalError", 'Internal error: failed calling webhook "w.example"'),
            REFUSED,
            id="a webhook fails",
        ),
        pytest.param(
            ApiError(418, "", 'admission webhook "w.example" denied the request: no tea'),
            REFUSED,
            id="a webhook denies with a status of its own",
        ),
        pytest.param(ApiError(400, "BadRequest", "unknown field"), REFUSED, id="unknown field"),
        pytest.param(
            ApiError(503, "ServiceUnavailable", "starting"), DISTRIBUTING, id="the server starts"
        ),
    ],
)
async def test_the_status_says_who_refuses_a_copy(error: ApiError, reason: str) -> None:
    setup = Setup()
    setup.namespace("a", team="ml")
    setup.template()
    setup.server.refusal = error
    with pytest.raises(ApiError):
        await setup.controller.reconcile(TemplateKey("copy", "gpu", "a"))
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    (ready,) = setup.server.statuses[-1]["conditions"]
    assert ready["reason"] == reason
    assert (str(error) in ready["message"]) is (reason == REFUSED)


async def test_a_refused_change_names_the_copy_and_not_the_name_of_the_attempt() -> None:
    setup = Setup()
    setup.namespace("a", team="ml")
    setup.template()
    await setup.controller.reconcile(TemplateKey("copy", "gpu", "a"))
    setup.template(version=2, spec=cluster_template()["spec"] | {"template": {"spec": {}}})
    setup.server.refusal = ApiError(422, "Invalid", 'template "gpu-x4k2z" is invalid: gpu-shared')
    with pytest.raises(ApiError, match=r'^template "gpu" is invalid: gpu-shared$'):
        await setup.controller.reconcile(TemplateKey("copy", "gpu", "a"))
    (created, *first), (attempt, *second) = setup.server.posted
    assert (created["metadata"]["name"], first) == ("gpu", [False, True])
    assert (attempt["metadata"]["generateName"], second) == ("gpu-", [True, True])


def stored_copy(namespace: str, **spec: Any) -> Json:
    """Return a copy with a hash that says that it is current, as a list returns it."""
    copy = copy_document(ClusterTemplate.parse(cluster_template()), namespace, "resource.k8s.io/v1")
    copy["metadata"] |= {"uid": f"uid-{namespace}", "resourceVersion": "1"}
    return copy | {"spec": copy["spec"] | spec}


async def reconciled(setup: Setup) -> None:
    """Reconcile what is enqueued, and the status."""
    for _ in range(2):
        waiting = setup.keys()
        for key in waiting:
            await setup.controller.reconcile(key)
    await setup.controller.reconcile(TemplateKey("status", "gpu"))


async def test_one_dry_run_verifies_all_copies_after_a_start() -> None:
    setup = Setup()
    for name in ("a", "b", "c"):
        setup.namespace(name, team="ml")
        setup.templates.handle({"type": "ADDED", "object": stored_copy(name, default=1)})
    setup.template()
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert [dry_run for _, dry_run, _ in setup.server.posted] == [True]
    assert setup.server.statuses[-1]["namespaces"] == 3
    assert setup.server.deleted == []


async def test_a_forged_copy_counts_as_current_at_no_time_and_is_replaced() -> None:
    setup = Setup()
    for name in ("a", "b"):
        setup.namespace(name, team="ml")
    setup.templates.handle({"type": "ADDED", "object": stored_copy("a", default=1)})
    setup.templates.handle({"type": "ADDED", "object": stored_copy("b", default=1, evil=True)})
    setup.template()
    await setup.controller.reconcile(TemplateKey("status", "gpu"))
    assert (setup.server.statuses[-1]["namespaces"], setup.server.statuses[-1]["outdated"]) == (
        1,
        1,
    )
    await reconciled(setup)
    assert setup.server.deleted == ["uid-b"]
    setup.templates.handle({"type": "MODIFIED", "object": setup.server.created("b")})
    await reconciled(setup)
    assert setup.server.statuses[-1]["namespaces"] == 2
    forged = stored_copy("b", evil=True)
    forged["metadata"] |= {"uid": "uid-again", "resourceVersion": "9"}
    setup.templates.handle({"type": "DELETED", "object": setup.server.created("b")})
    setup.templates.handle({"type": "ADDED", "object": forged})
    await reconciled(setup)
    assert setup.server.deleted == ["uid-b", "uid-again"]


async def test_a_copy_that_a_webhook_makes_differently_in_its_namespace_stays() -> None:
    setup = Setup()
    setup.server.mutate = "b"
    for name in ("a", "b"):
        setup.namespace(name, team="ml")
    setup.templates.handle({"type": "ADDED", "object": stored_copy("a", default=1)})
    setup.templates.handle({"type": "ADDED", "object": stored_copy("b", default=1, mutated=True)})
    setup.template()
    await reconciled(setup)
    await reconciled(setup)
    assert setup.server.deleted == []
    assert setup.server.statuses[-1]["namespaces"] == 2
