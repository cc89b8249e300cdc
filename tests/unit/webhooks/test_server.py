"""The server: every request is answered, and no error allows an object."""

import asyncio
import io
import json
from typing import Any

import pytest

from dragoman_webhooks import executor, metrics
from dragoman_webhooks.http.requests import BODY_LIMIT
from dragoman_webhooks.server import PATH, ServerLimits
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds.reviews import BAD, GOOD, claim, review, written
from tests.unit.webhooks.harness import address, field, serving

Json = dict[str, Any]
DEEP = 10_000


def but(**changes: Any) -> Json:
    """Return a good review with some fields of its request changed."""
    made = review(claim())
    return {**made, "request": {**made["request"], **changes}}


@pytest.mark.parametrize("path", ["/", "/validat", f"{PATH}/", f"{PATH}/x", "/validate%2F"])
async def test_another_path_is_not_found(path: str) -> None:
    async with serving() as client:
        status, text = await client.post(review(claim()), path)
    assert status == 404
    assert "allowed" not in text


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_another_method_is_not_allowed(method: str) -> None:
    async with serving() as client, client.session.request(method, client.url + PATH) as response:
        assert response.status == 405


@pytest.mark.parametrize("kind", ["text/plain", "application/yaml", "application/jsonx", ""])
async def test_another_content_type_is_refused(kind: str) -> None:
    async with serving() as client:
        status, _ = await client.post(review(claim()), Content_Type=kind)
    assert status == 415


async def test_a_charset_beside_the_content_type_is_accepted() -> None:
    async with serving() as client:
        status, _ = await client.post(
            review(claim()), Content_Type="application/json; charset=utf-8"
        )
    assert status == 200


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half an object"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b"[" * DEEP + b"]" * DEEP, id="10,000 levels of arrays"),
        pytest.param(b'{"a":' * DEEP + b"1" + b"}" * DEEP, id="10,000 levels of objects"),
        pytest.param(b"[" * DEEP, id="10,000 levels that never end"),
        pytest.param(b'{"a":\x00}', id="NUL"),
        pytest.param(b'"\xff\xfe"', id="no UTF-8"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(written('"a\x00b"'), id="a literal NUL in the parameters"),
        pytest.param(b"\xef\xbb\xbf" + written("{}"), id="a byte order mark"),
        pytest.param(written("{}") * 2, id="two reviews"),
        pytest.param({**review(claim()), "apiVersion": "admission.k8s.io/v1beta1"}, id="v1beta1"),
        pytest.param({**review(claim()), "kind": "Review"}, id="another kind"),
        pytest.param({**review(claim()), "request": None}, id="no request"),
        pytest.param({**review(claim()), "request": []}, id="a request that is an array"),
        pytest.param(but(uid=None), id="no uid"),
        pytest.param(but(uid=1), id="a uid that is a number"),
        pytest.param(but(operation=None), id="no operation"),
        pytest.param(but(operation="create"), id="an unknown operation"),
        pytest.param(but(resource=None), id="no resource"),
        pytest.param(but(resource={"group": "", "resource": "pods"}), id="another resource"),
        pytest.param(
            but(resource={"group": "apps", "resource": "resourceclaims"}), id="another group"
        ),
        pytest.param(but(object="x"), id="an object that is a string"),
        pytest.param(but(object=None), id="nothing to create"),
        pytest.param(but(operation="UPDATE", oldObject=[]), id="an old object that is an array"),
    ],
)
async def test_an_invalid_review_is_a_bad_request_and_never_allowed(body: Any) -> None:
    async with serving() as client:
        status, text = await client.post(body)
    assert status == 400
    assert '"allowed"' not in text


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        pytest.param('{"level": 1, "level": 2}', ".level", id="a repeated key"),
        pytest.param('{"level": 1.0}', ".level", id="a fraction that is none"),
        pytest.param('{"level": 1e1}', ".level", id="an exponent"),
        pytest.param('{"level": ' + "9" * 40 + "}", ".level", id="40 digits"),
        pytest.param('{"level": 1e999}', ".level", id="a number beyond a double"),
        pytest.param('{"level": ' + "9" * 400 + "}", ".level", id="400 digits"),
        pytest.param('{"level": "a\\u0000b"}', ".level", id="an escaped NUL"),
    ],
)
async def test_odd_json_in_the_parameters_is_refused_at_its_place(
    parameters: str, path: str
) -> None:
    kind = json.dumps(worlds.KIND)[1:-1]
    async with serving() as client:
        response = await client.reviewed(written("{" + kind + ", " + parameters[1:]))
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    assert field(response) == f"spec.devices.config[0].opaque.parameters{path}"


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
async def test_a_body_over_eight_mebibytes_is_too_large(chunked: bool) -> None:
    async def chunks() -> Any:
        for _ in range(9):
            yield b" " * (BODY_LIMIT // 8)

    body = chunks() if chunked else io.BytesIO(b" " * (BODY_LIMIT + 1))
    headers = {"Content-Type": "application/json"}
    async with (
        serving() as client,
        client.session.post(client.url + PATH, data=body, headers=headers) as response,
    ):
        assert response.status == 413


async def test_a_review_of_the_largest_objects_is_answered() -> None:
    large = {**claim(), "metadata": {"annotations": {"a": "x" * (BODY_LIMIT // 2 - 4096)}}}
    async with serving() as client:
        response = await client.reviewed(review(large, "UPDATE", large))
    assert response["allowed"] is True


def head(length: int) -> bytes:
    return (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


async def test_a_client_that_does_not_finish_its_request_is_timed_out() -> None:
    async with serving(limits=ServerLimits(read_timeout=0.5)) as client:
        reader, writer = await asyncio.open_connection(*address(client))
        writer.write(head(100) + b"{")
        line = await reader.readline()
        writer.close()
        assert line.split()[1] == b"408"
        assert (await client.reviewed(review(claim())))["allowed"] is True


@pytest.mark.parametrize("size", [executor.INLINE_BYTES, 0], ids=["inline", "in a thread"])
async def test_an_internal_error_is_answered_with_an_id_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(executor, "INLINE_BYTES", size)
    monkeypatch.setattr(executor, "review_configs", broken)
    async with serving() as client:
        status, text = await client.post(review(claim()))
    assert status == 500
    assert text.startswith("internal error; request ")
    assert len(text.split()[-1]) == 16
    assert "secret" not in text


def counted(name: str, **labels: str) -> float:
    """Return what a metric says now."""
    return metrics.REGISTRY.get_sample_value(f"dragoman_webhook_{name}", labels) or 0.0


async def test_reviews_refusals_and_errors_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError

    claims = {"resource": "resourceclaims"}
    before = counted("reviews_total", verdict="denied", **claims)
    errors = counted("reviews_total", verdict="error", resource="")
    refused = counted("requests_refused_total", code="400")
    async with serving() as client:
        await client.reviewed(review(claim(BAD)))
        await client.post(b"{}")
        monkeypatch.setattr(executor, "review_configs", broken)
        await client.post(review(claim(BAD)))
        assert counted("reviews_in_flight") == 0
        assert counted("cached_results") == 1
    assert counted("reviews_total", verdict="denied", **claims) == before + 1
    assert counted("reviews_total", verdict="error", resource="") == errors + 1
    assert counted("requests_refused_total", code="400") == refused + 1


async def test_a_review_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def endless(*_: Any) -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    monkeypatch.setattr(executor, "INLINE_BYTES", 0)
    monkeypatch.setattr(executor, "review_configs", endless)
    async with serving(limits=ServerLimits(deadline=0.05)) as client:
        status, _ = await client.post(review(claim()))
        release.set()
    assert status == 503


async def test_probes_tell_whether_schemas_are_compiled() -> None:
    async with serving(ready=lambda: "not listed yet") as client:
        async with client.session.get(client.url + "/readyz") as response:
            assert (response.status, await response.text()) == (503, "not listed yet")
        async with client.session.get(client.url + "/livez") as response:
            assert response.status == 200


async def test_nothing_is_reviewed_before_all_schemas_are_compiled() -> None:
    async with (
        serving(ready=lambda: "not listed yet") as client,
        client.session.post(client.url + PATH, json=review(claim())) as response,
    ):
        assert (response.status, await response.text()) == (503, "not listed yet")
        assert response.headers["Retry-After"] == "1"


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize(
    ("make", "path"),
    [
        pytest.param(worlds.claim, "spec.devices.config[0]", id="a claim"),
        pytest.param(worlds.template, "spec.spec.devices.config[0]", id="a template"),
        pytest.param(worlds.device_class, "spec.config[0]", id="a class"),
    ],
)
async def test_a_bad_config_is_refused_with_its_path_in_every_version(
    version: str, make: Any, path: str
) -> None:
    def made(parameters: Json) -> Json:
        return {**make(worlds.entry(parameters)), "apiVersion": f"resource.k8s.io/{version}"}

    async with serving() as client:
        assert (await client.reviewed(review(made(GOOD))))["allowed"] is True
        refused = await client.reviewed(review(made(BAD)))
    assert refused["allowed"] is False
    assert refused["status"]["reason"] == "Invalid"
    assert field(refused) == f"{path}.opaque.parameters.level"
    assert refused["status"]["message"].startswith(f"{path}.opaque.parameters.level: ")


async def test_a_dry_run_is_reviewed_like_any_other() -> None:
    async with serving() as client:
        response = await client.reviewed(review(claim(BAD), dryRun=True))
    assert response["allowed"] is False


async def test_an_object_that_has_no_name_yet_is_reviewed() -> None:
    nameless = {**claim(BAD), "metadata": {"generateName": "claim-"}}
    async with serving() as client:
        response = await client.reviewed(review(nameless))
    assert response["allowed"] is False
    assert response["status"]["details"]["name"] == ""


async def test_deletion_and_the_removal_of_finalizers_always_pass() -> None:
    leaving = {**claim(BAD), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    async with serving() as client:
        response = await client.reviewed(review(None, "DELETE", claim(BAD)))
        released = await client.reviewed(review(leaving, "UPDATE", claim(BAD)))
    assert response["allowed"] is True
    assert released["allowed"] is True


async def test_an_object_that_is_being_deleted_takes_no_new_bad_config() -> None:
    leaving = worlds.device_class(worlds.entry(BAD))
    leaving["metadata"] = {"name": "class", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    stored = worlds.device_class(worlds.entry(GOOD))
    async with serving() as client:
        refused = await client.reviewed(review(leaving, "UPDATE", stored))
    assert refused["allowed"] is False
    assert field(refused) == "spec.config[0].opaque.parameters.level"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        pytest.param(
            b"[" * DEEP + b"]" * DEEP, "opaque.parameters: Invalid value: ", id="10,000 levels"
        ),
        pytest.param(
            b'{"apiVersion":"example.com/v1","kind":"Config","level":"\xff"}',
            "opaque.parameters.level: Invalid value: ?: must be valid Unicode",
            id="a stray byte",
        ),
        pytest.param(
            b'{"apiVersion":"example.com/v1","kind":"Config","level":"\\ud800"}',
            "opaque.parameters.level: Invalid value: ?: must be valid Unicode",
            id="half a surrogate pair",
        ),
    ],
)
async def test_unreadable_parameters_are_a_denial_that_names_the_place(
    parameters: bytes, words: str
) -> None:
    # A bad request would leave the decision to failurePolicy, and Ignore would let it in.
    body = written('"@@"').replace(b'"@@"', parameters)
    async with serving() as client:
        response = await client.reviewed(body)
    assert response["allowed"] is False
    assert words in response["status"]["message"]


@pytest.mark.parametrize("kind", [worlds.claim(), worlds.schema(worlds.config())])
async def test_an_object_that_takes_too_much_memory_is_denied(kind: Json) -> None:
    body = json.dumps(review({**kind, "spec": "@"}), separators=(",", ":"))
    large = body.replace('"@"', "[" + "{}," * 300_000 + "{}]").encode()
    async with serving() as client:
        refused = await client.reviewed(large)
    assert refused["allowed"] is False
    assert refused["status"]["code"] == 422
    assert field(refused) == "object"
    assert "takes more than 52 MiB of memory" in refused["status"]["message"]


@pytest.mark.parametrize(
    "change", [("AdmissionReview", "Review"), ('"uid":"0a1b",', ""), ("resourceclaims", "pods")]
)
async def test_a_large_body_that_is_no_review_is_a_bad_request(change: tuple[str, str]) -> None:
    body = json.dumps(review({**claim(), "spec": "@"}), separators=(",", ":")).replace(*change)
    large = body.replace('"@"', "[" + "{}," * 300_000 + "{}]").encode()
    async with serving() as client:
        status, text = await client.post(large)
    assert status == 400
    assert '"allowed"' not in text


async def test_what_was_stored_passes_and_what_is_new_does_not() -> None:
    labelled = {**claim(BAD), "metadata": {"name": "claim", "labels": {"a": "b"}}}
    worse = worlds.claim(worlds.entry(BAD), worlds.entry({**BAD, "level": "higher"}))
    async with serving() as client:
        assert (await client.reviewed(review(labelled, "UPDATE", claim(BAD))))["allowed"] is True
        refused = await client.reviewed(review(worse, "UPDATE", claim(BAD)))
    assert refused["allowed"] is False
    assert field(refused) == "spec.devices.config[1].opaque.parameters.level"


async def test_a_schema_that_does_not_compile_is_refused_and_switching_it_off_is_not() -> None:
    broken = worlds.schema(worlds.config({"level": {"type": "nonsense"}}))
    off = {**broken, "spec": {**broken["spec"], "mode": "Off"}}
    async with serving() as client:
        refused = await client.reviewed(review(broken))
        allowed = await client.reviewed(review(off, "UPDATE", broken))
    assert refused["allowed"] is False
    assert field(refused).startswith("spec.configs[0].schema.openAPIV3Schema")
    assert allowed["allowed"] is True


async def test_the_same_parameters_get_the_same_answer_again() -> None:
    async with serving() as client:
        answers = [await client.reviewed(review(claim(BAD))) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
