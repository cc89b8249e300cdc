"""The API server takes the CRD and the catalog, keeps the limits, and explains itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman_configs import catalog
from dragoman_configs.compile.registry import Registry
from dragoman_configs.objects.driverconfigschema import CHECKED_AGAINST
from dragoman_configs.review import status as schema_status
from tests.e2e.webhook.conftest import install, remove
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as builders

Json = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"
CRD = catalog.definition()
RESOURCE = "driverconfigschemas.dragoman.dev"
EXAMPLES = Path(__file__).parents[2] / "examples" / "configs"


@pytest.fixture(scope="module")
def schemas(plane: ControlPlane) -> Iterator[Api]:
    """Install the CRD for the tests of this file; gives a client that knows it."""
    install(plane)
    yield plane.api()
    remove(plane)


@pytest.fixture(autouse=True)
def _empty(schemas: Api) -> Iterator[None]:
    yield
    schemas.delete_all(RESOURCE)


def bare(**spec: Any) -> Json:
    document = builders.schema(**spec)
    del document["metadata"]["uid"], document["metadata"]["generation"]
    return document


def config(**more: Any) -> Json:
    return {"schema": {"openAPIV3Schema": {"type": "object"}}, **more}


def test_the_crd_has_no_complaints_about_itself(schemas: Api) -> None:
    found = schemas.get("customresourcedefinitions", CRD["metadata"]["name"])
    complaints = [c for c in found["status"]["conditions"] if c["type"] == "NonStructuralSchema"]
    assert complaints == []


@pytest.mark.parametrize(
    "document",
    [*catalog.schemas(), *catalog.releases().values()],
    ids=lambda one: str(one["metadata"]["name"]),
)
def test_every_object_of_the_catalog_is_accepted_without_a_field_being_lost(
    schemas: Api, document: Json
) -> None:
    stored = schemas.create(document, fieldValidation="Strict")
    assert stored["spec"]["driver"] == document["spec"]["driver"]
    assert [c["schema"] for c in stored["spec"].get("configs", [])] == [
        c["schema"] for c in document["spec"]["configs"]
    ]
    installed = Registry.of([stored]).objects[document["metadata"]["name"]]
    assert installed.compilation.errors == ()


def test_a_schema_gets_the_defaults_that_the_parser_has(schemas: Api) -> None:
    document = bare(configs=[config()])
    stored = schemas.create(document)
    assert stored["spec"]["mode"] == "Enforce"
    given, defaulted = (
        Registry.of([one]).objects[builders.DRIVER].parsed for one in (document, stored)
    )
    for name in ("mode", "unknown_configs", "entries", "configs", "variables"):
        assert getattr(given, name) == getattr(defaulted, name)


def test_a_mode_that_an_admin_set_survives_the_next_version_of_the_catalog(schemas: Api) -> None:
    [document] = [d for d in catalog.schemas() if d["metadata"]["name"] == "gpu.nvidia.com"]
    schemas.apply(document, "dragoman")
    schemas.patch(RESOURCE, "gpu.nvidia.com", None, {"spec": {"mode": "Warn"}}, kind="merge")
    newer = {**document, "spec": {**document["spec"], "unknownConfigs": "Warn"}}
    stored = schemas.apply(newer, "dragoman")
    assert (stored["spec"]["mode"], stored["spec"]["unknownConfigs"]) == ("Warn", "Warn")


def variable(value: Any, kind: str, name: str = "X") -> Json:
    return {"name": name, "type": kind, "value": value}


def rule(**more: Any) -> Json:
    return config(rules=[{"rule": "true", **more}])


def wide(count: int) -> Json:
    schema = {"type": "object", **{f"x-{i}": 1 for i in range(count - 1)}}
    return {"schema": {"openAPIV3Schema": schema}}


def kinds(count: int) -> list[Json]:
    return [config(apiVersion="a/v1", kind=f"K{i}") for i in range(count)]


@pytest.mark.parametrize(
    ("make", "edge"),
    [
        pytest.param(lambda n: bare(driver="a" * n), 63, id="characters of a driver"),
        pytest.param(lambda n: bare(configs=kinds(n)), 32, id="configs"),
        pytest.param(lambda n: bare(configs=[config(apiVersion="a" * n)]), 253, id="apiVersion"),
        pytest.param(lambda n: bare(configs=[config(apiVersion="a", kind="K" * n)]), 63, id="kind"),
        pytest.param(lambda n: bare(configs=[wide(n)]), 40, id="words at a schema's root"),
        pytest.param(
            lambda n: bare(configs=[config(rules=[{"rule": "true"}] * n)]), 64, id="rules"
        ),
        pytest.param(lambda n: bare(configs=[rule(rule="t" * n)]), 4096, id="a rule"),
        pytest.param(lambda n: bare(configs=[rule(message="m" * n)]), 1024, id="a message"),
        pytest.param(
            lambda n: bare(configs=[rule(messageExpression="m" * n)]), 4096, id="a made message"
        ),
        pytest.param(
            lambda n: bare(configs=[rule(fieldPath="." + "f" * (n - 1))]), 512, id="a field path"
        ),
        pytest.param(
            lambda n: bare(variables=[variable(1, "int", f"X{i}") for i in range(n)]),
            64,
            id="variables",
        ),
        pytest.param(
            lambda n: bare(variables=[variable(1, "int", "X" * n)]), 63, id="a variable's name"
        ),
        pytest.param(
            lambda n: bare(variables=[variable("v" * n, "string")]), 1024, id="a variable's text"
        ),
    ],
)
def test_a_limit_holds_at_its_edge(schemas: Api, make: Callable[[int], Json], edge: int) -> None:
    schemas.create(make(edge))
    schemas.delete_all(RESOURCE)
    with pytest.raises(ApiError) as refused:
        schemas.create(make(edge + 1))
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(bare(driver=""), "spec.driver", id="no driver"),
        pytest.param(bare(driver="GPU.example.com"), "spec.driver", id="a driver in upper case"),
        pytest.param(bare(mode="On"), "spec.mode", id="an unknown mode"),
        pytest.param(
            bare(entries={"precedence": "Best"}), "spec.entries.precedence", id="precedence"
        ),
        pytest.param(bare(configs=[config(), config()]), "Duplicate value", id="one kind twice"),
        pytest.param(
            bare(configs=[config(kind="K")]),
            "a kind has an apiVersion",
            id="a kind without version",
        ),
        pytest.param(bare(configs=[{}]), "spec.configs[0].schema: Required", id="no schema"),
        pytest.param(
            bare(configs=[{"schema": {"openAPIV3Schema": {}}}]),
            "openAPIV3Schema",
            id="empty schema",
        ),
        pytest.param(
            bare(configs=[config(allowedSources=[])]), "allowedSources", id="allowed nowhere"
        ),
        pytest.param(
            bare(configs=[config(allowedSources=["Claim", "Claim"])]), "Duplicate", id="twice"
        ),
        pytest.param(
            bare(configs=[rule(rule="true\n|| false")]), "contains line breaks", id="a long rule"
        ),
        pytest.param(bare(configs=[rule(message="a\nb")]), "rules[0].message", id="a long message"),
        pytest.param(bare(configs=[rule(severity="Info")]), "severity", id="severity"),
        pytest.param(bare(configs=[rule(reason="Because")]), "reason", id="reason"),
        pytest.param(bare(variables=[variable(1, "int")] * 2), "Duplicate value", id="name twice"),
        pytest.param(bare(variables=[variable(1, "int", "a-b")]), "name", id="no identifier"),
        pytest.param(bare(variables=[variable(1, "int", "in")]), "reserved word", id="a CEL word"),
        pytest.param(bare(variables=[variable("no", "bool")]), "variables[0]", id="text for bool"),
        pytest.param(bare(variables=[variable(1, "bool")]), "variables[0]", id="1 for bool"),
        pytest.param(bare(variables=[variable("1", "int")]), "variables[0]", id="text for int"),
        pytest.param(bare(variables=[variable(True, "int")]), "variables[0]", id="true for int"),
        pytest.param(bare(variables=[variable(1.5, "int")]), "variables[0]", id="a fraction"),
        pytest.param(bare(variables=[variable({}, "int")]), "variables[0]", id="{} for int"),
        pytest.param(bare(variables=[variable([], "int")]), "variables[0]", id="[] for int"),
        pytest.param(bare(variables=[variable(1, "string")]), "variables[0]", id="1 for string"),
        pytest.param(
            bare(variables=[variable(True, "string")]), "variables[0]", id="true for string"
        ),
        pytest.param(bare(variables=[variable({}, "string")]), "variables[0]", id="{} for string"),
        pytest.param(bare(variables=[variable(None, "string")]), "variables[0]", id="null"),
    ],
)
def test_a_malformed_object_is_refused_by_the_api_server(
    schemas: Api, document: Json, words: str
) -> None:
    with pytest.raises(ApiError, match=r"(?s).") as refused:
        schemas.create(document)
    assert refused.value.code == 422
    assert words in refused.value.message


@pytest.mark.parametrize(
    "made",
    [variable(True, "bool"), variable(-1, "int"), variable(2**53, "int"), variable("", "string")],
    ids=["bool", "negative int", "large int", "empty string"],
)
def test_a_variable_of_its_type_is_accepted(schemas: Api, made: Json) -> None:
    assert schemas.create(bare(variables=[made]))["spec"]["variables"] == [made]


def test_an_apply_of_one_variable_leaves_the_others_alone(schemas: Api) -> None:
    nvidia = next(one for one in catalog.schemas() if one["metadata"]["name"] == "gpu.nvidia.com")
    schemas.apply(nvidia, manager="dragoman")
    change = yaml.safe_load((EXAMPLES / "mps-support.yaml").read_text())
    applied = schemas.apply(change, manager="admin")
    before = {one["name"]: one for one in nvidia["spec"]["variables"]}
    after = {one["name"]: one for one in applied["spec"]["variables"]}
    assert after == {**before, "MPSSupport": {**before["MPSSupport"], "value": True}}
    assert applied["spec"]["configs"]


def test_the_value_of_a_variable_tells_its_type(schemas: Api) -> None:
    made = [{"name": "A", "value": True}, {"name": "B", "value": 3}, {"name": "C", "value": "x"}]
    assert schemas.create(bare(variables=made))["spec"]["variables"] == made


def test_the_driver_of_an_object_cannot_be_changed(schemas: Api) -> None:
    schemas.create(bare())
    with pytest.raises(ApiError, match="cannot be changed"):
        schemas.patch(RESOURCE, builders.DRIVER, None, {"spec": {"driver": "x"}}, kind="merge")


def test_the_status_is_accepted_and_printed(plane: ControlPlane, schemas: Api) -> None:
    document = bare(configs=[config(apiVersion="a/v1", kind="A"), config()])
    document["metadata"]["annotations"] = {CHECKED_AGAINST: "acme/driver v1.2.3, 4f3c2b1"}
    stored = schemas.create(document)
    broken = {**stored, "spec": {**stored["spec"], "configs": [config(apiVersion="a/v1"), wide(3)]}}
    for document in (stored, broken):
        status = schema_status.status(Registry.of([document]), builders.DRIVER, {}, NOW)
        sample = [{"kind": "ResourceClaim", "namespace": "a", "name": "b", "message": "c"}]
        account = {"checked": 5, "violations": 3, "sample": sample, "reported": ["abc"]}
        status["audit"] = {"time": NOW, **account}
        current = schemas.get(RESOURCE, builders.DRIVER)
        written = schemas.update({**current, "status": status}, "status", fieldValidation="Strict")
        assert written["status"] == status
        assert written["spec"] == stored["spec"]
    shown = plane.kubectl("get", "dcs").stdout.splitlines()
    columns = "NAME DRIVER MODE CONFIGS READY VIOLATIONS AUDITED AGE"
    assert shown[0].split() == columns.split()
    values = shown[1].split()
    assert values[:6] == [builders.DRIVER, builders.DRIVER, "Enforce", "1/2", "False", "3"]
    assert values[6][-1] in "smhdy"
    more = plane.kubectl("get", "dcs", "-o", "wide").stdout.splitlines()
    assert "CHECKED-AGAINST" in more[0]
    assert "acme/driver v1.2.3, 4f3c2b1" in more[1]


def explained(plane: ControlPlane, path: str) -> str:
    def text() -> str:
        result = plane.kubectl("explain", path, check=False)
        return result.stdout if not result.returncode else ""

    return str(wait_for(text, message=f"kubectl explain {path} fails"))


@pytest.mark.usefixtures("schemas")
def test_kubectl_explain_reads_well(plane: ControlPlane) -> None:
    spec = explained(plane, "driverconfigschema.spec")
    for field in ("configs", "driver", "entries", "mode", "unknownConfigs", "variables"):
        assert f"\n  {field}\t" in spec
    assert "enum: Enforce, Warn, Audit, Off" in spec
    assert "-required-" in spec
    rules = explained(plane, "dcs.spec.configs.rules")
    assert "A CEL expression that is true for valid parameters." in rules


def described(schema: Json, path: str) -> Iterator[tuple[str, bool]]:
    """Yield every field of the CRD and whether it has a description."""
    for name, child in schema.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        if place != "metadata":
            yield place, bool(child.get("description"))
        yield from described(child, place)
        if "items" in child:
            yield from described(child["items"], place)


def test_every_field_is_described() -> None:
    [version] = CRD["spec"]["versions"]
    fields = dict(described(version["schema"]["openAPIV3Schema"], ""))
    assert len(fields) > 50
    assert [name for name, has in fields.items() if not has] == []
