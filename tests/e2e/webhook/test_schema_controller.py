"""The schema controller on a real API server: catalog, status, audit."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from dragoman_configs import catalog
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.webhook import conftest
from tests.e2e.webhook.rbac import GROUP, SCHEMA_RULES
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as worlds

Json = dict[str, Any]
CRD = conftest.CRD
NVIDIA = "gpu.nvidia.com"
LEVEL = {"level": {"type": "integer"}}
SECRET = "hunter2"
BAD = {**worlds.KIND, "level": SECRET}


@pytest.fixture(scope="module")
def user(plane: ControlPlane) -> Any:
    return plane.user("schema-controller", SCHEMA_RULES)


@pytest.fixture
def operator(plane: ControlPlane, user: Any) -> Iterator[OperatorProcess]:
    running = OperatorProcess(plane, user, "--claims=off", f"--namespace={fresh(plane)}")
    yield running
    running.stop()
    assert running.faults() == []


def fresh(plane: ControlPlane) -> str:
    return plane.create_namespace("lease")


def bare(*configs: Json, **spec: Any) -> Json:
    document = worlds.schema(*configs, **spec)
    del document["metadata"]["uid"], document["metadata"]["generation"]
    return document


def condition(document: Json, kind: str) -> Json:
    listed = document.get("status", {}).get("conditions") or []
    return next((one for one in listed if one["type"] == kind), {})


def ready(api: Api, name: str = worlds.DRIVER, **wanted: Any) -> Json:
    """Wait for a Ready condition with these fields; returns the object."""

    def found() -> Json | None:
        document: Json = api.get(CRD, name)
        seen = condition(document, "Ready")
        return document if seen and wanted.items() <= seen.items() else None

    made: Json = wait_for(found, message=f"{name} is not Ready with {wanted}")
    return made


def valued(schema: Json) -> set[str]:
    """Return the names of the variables that are set to true."""
    return {one["name"] for one in schema["spec"]["variables"] if one["value"]}


def audited(api: Api, name: str = worlds.DRIVER, **wanted: Any) -> Json:
    """Wait for an audit with these fields; returns it."""

    def found() -> Json | None:
        account = api.get(CRD, name).get("status", {}).get("audit") or {}
        return account if account and wanted.items() <= account.items() else None

    made: Json = wait_for(found, message=f"{name} has no audit with {wanted}")
    return made


def store(plane: ControlPlane, document: Json, name: str, namespace: str = "") -> Json:
    place = {"namespace": namespace} if namespace else {}
    made = {**document, "metadata": {"name": name, **place}}
    return plane.api().create(plane.served(made))


def events(api: Api, name: str) -> list[str]:
    found = api.list("events.events.k8s.io")
    return [
        one["note"]
        for one in found
        if one["regarding"]["name"] == name and one["reason"] == "DriverConfigInvalid"
    ]


def test_the_catalog_is_applied_and_every_schema_becomes_ready(
    plane: ControlPlane, user: Any, schemas: Api
) -> None:
    flags = ("--claims=off", "--catalog=all", f"--catalog-mode={NVIDIA}=Warn")
    with OperatorProcess(
        plane,
        user,
        *flags,
        f"--catalog-variable={NVIDIA}:MPSSupport=true",
        f"--namespace={fresh(plane)}",
    ) as running:
        for document in catalog.schemas():
            found = ready(schemas, document["metadata"]["name"], status="True", reason="Compiled")
            assert found["status"]["observedGeneration"] == 1
            assert all(config["compiled"] for config in found["status"]["configs"])
        assert running.faults() == []
    spec = schemas.get(CRD, NVIDIA)["spec"]
    values = {one["name"]: one["value"] for one in spec["variables"]}
    assert (spec["mode"], values["MPSSupport"]) == ("Warn", True)
    shown = plane.kubectl("get", "dcs", NVIDIA).stdout.splitlines()[1].split()
    assert shown[2:5] == ["Warn", shown[3], "True"]


def test_fields_that_admins_took_over_survive_a_restart_with_other_options(
    plane: ControlPlane, user: Any, schemas: Api
) -> None:
    flags = ("--claims=off", f"--catalog={NVIDIA}", f"--catalog-mode={NVIDIA}=Warn")
    namespace = f"--namespace={fresh(plane)}"
    with OperatorProcess(plane, user, *flags, namespace):
        ready(schemas, NVIDIA, status="True")
    spec = schemas.get(CRD, NVIDIA)["spec"]
    variables = [{**one, "value": one["name"] == "DynamicMIG"} for one in spec["variables"]]
    taken = {"mode": "Audit", "unknownConfigs": "Allow", "variables": variables}
    schemas.patch(CRD, NVIDIA, None, {"spec": taken}, fieldManager="admin")
    other = (f"--catalog-mode={NVIDIA}=Enforce", f"--catalog-variable={NVIDIA}:MPSSupport=true")
    with OperatorProcess(plane, user, *flags[:2], *other, namespace) as running:
        wait_for(
            lambda: "Other field managers own fields" in running.said(),
            message="no conflict was seen",
        )
        # What no admin touched still follows the options.
        wait_for(
            lambda: valued(schemas.get(CRD, NVIDIA)) == {"DynamicMIG", "MPSSupport"},
            message="the options did not reach the variable that no admin took over",
        )
        found = schemas.get(CRD, NVIDIA)
        ready(schemas, NVIDIA, status="True", observedGeneration=found["metadata"]["generation"])
    spec = found["spec"]
    assert (spec["mode"], spec["unknownConfigs"]) == ("Audit", "Allow")
    assert {one["name"] for one in spec["variables"]} == {one["name"] for one in variables}


def test_a_schema_that_does_not_compile_says_so_with_its_path_and_its_repair_is_seen(
    schemas: Api, operator: OperatorProcess
) -> None:
    operator.start()
    broken = bare(worlds.config({"level": {"type": "integer", "pattern": 1}}))
    schemas.create(broken)
    found = ready(schemas, status="False", reason="NotCompiled")
    assert "spec.configs[0].schema.openAPIV3Schema" in condition(found, "Ready")["message"]
    assert [config["compiled"] for config in found["status"]["configs"]] == [False]

    repaired = bare(worlds.config(LEVEL))
    schemas.patch(CRD, worlds.DRIVER, None, {"spec": repaired["spec"]})
    found = ready(schemas, status="True", observedGeneration=2)
    assert found["status"]["configsReady"] == "1/1"

    schemas.patch(CRD, worlds.DRIVER, None, {"spec": broken["spec"]})
    found = ready(schemas, status="False", reason="LastGoodGeneration")
    assert "generation 2 stays active" in condition(found, "Ready")["message"]


def test_a_status_that_somebody_wiped_is_written_again_and_then_left_alone(
    plane: ControlPlane, schemas: Api, operator: OperatorProcess
) -> None:
    operator.start()
    schemas.create(bare(worlds.config(LEVEL)))
    audited(schemas, checked=0)
    wiped = {"status": {"conditions": None, "configs": None}}
    schemas.patch(CRD, worlds.DRIVER, None, wiped, subresource="status")
    ready(schemas, status="True")
    plane.audit.settled(operator.user.name)
    mark = plane.audit.mark()
    schemas.patch(CRD, worlds.DRIVER, None, {"metadata": {"labels": {"a": "b"}}})
    plane.audit.settled(quiet=3)
    written = plane.audit.writes(operator.user.name, since=mark, resource=f"{CRD.split('.')[0]}")
    assert written == ()


def test_the_audit_finds_what_was_stored_before_and_tells_of_it_once(
    plane: ControlPlane, namespace: str, schemas: Api, operator: OperatorProcess
) -> None:
    entry = worlds.entry(BAD)
    store(plane, worlds.template(entry), "bad-template", namespace)
    store(plane, worlds.claim(entry), "bad-claim", namespace)
    store(plane, worlds.device_class(entry), "bad-class")
    try:
        operator.start()
        schemas.create(bare(worlds.config(LEVEL), mode="Audit"))
        account = audited(schemas, checked=3, violations=3)
        assert {(one["kind"], one["name"]) for one in account["sample"]} == {
            ("ResourceClaim", "bad-claim"),
            ("ResourceClaimTemplate", "bad-template"),
            ("DeviceClass", "bad-class"),
        }
        assert SECRET not in str(schemas.get(CRD, worlds.DRIVER))
        for name in ("bad-claim", "bad-template", "bad-class"):
            [note] = wait_for(partial(events, schemas, name), message="no Event")
            assert "opaque.parameters.level" in note
            assert SECRET not in note
        operator.stop()

        operator.start()
        schemas.patch(CRD, worlds.DRIVER, None, {"spec": {"mode": "Warn"}})
        audited(schemas, observedGeneration=2, violations=3)
        plane.audit.settled(operator.user.name)
        assert len(events(schemas, "bad-template")) == 1
        assert SECRET not in operator.said()
    finally:
        schemas.delete("deviceclasses", "bad-class")


def test_without_the_crd_the_operator_works_and_finds_it_when_it_comes(
    plane: ControlPlane, user: Any, schemas: Api
) -> None:
    conftest.remove(plane)
    waiting = "Waiting for an API api='driverconfigschemas'"
    try:
        with OperatorProcess(plane, user, "--claims=own", f"--namespace={fresh(plane)}") as running:
            wait_for(lambda: waiting in running.said(), message="the CRD is not missed")
            conftest.install(plane)
            schemas.create(bare(worlds.config(LEVEL)))
            ready(schemas, status="True")
            assert sum(waiting in line for line in running.said().splitlines()) == 1
            assert running.faults() == []
    finally:
        if not plane.serves(CRD):
            conftest.install(plane)


def test_an_account_that_may_not_touch_schemas_makes_claims_all_the_same(
    plane: ControlPlane, namespace: str, schemas: Api
) -> None:
    schemas.create(bare(worlds.config(LEVEL)))
    rules = [one for one in OPERATOR_RULES if GROUP not in one["apiGroups"]]
    user = plane.user("claims-only", rules)
    api = plane.api()
    with OperatorProcess(plane, user, f"--namespace={fresh(plane)}") as running:
        api.create(plane.served({**worlds.template(), "metadata": named("t", namespace)}))
        api.create(objects.pod("p", namespace, templates={"gpu": "t"}))
        wait_for(lambda: api.list("resourceclaims", namespace), message="no claim was made")
        assert running.faults() == []
    with pytest.raises(ApiError):
        plane.api(user).list(CRD)


def named(name: str, namespace: str) -> Json:
    return {"name": name, "namespace": namespace}
