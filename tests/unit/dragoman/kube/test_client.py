"""What is understood of the API server's answers, whoever speaks in its place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS, Resource
from tests.support.scriptedserver import Answer, Json, ScriptedServer, plain, refused
from tests.unit.dragoman.kube.harness import Token
from tests.unit.dragoman.kube.http.fakes import fake_server
from tests.unit.dragoman.kube.http.fakes import response as encoded

STATUS = {
    "kind": "Status",
    "code": 422,
    "reason": "Invalid",
    "message": 'Pod "a" is invalid',
    "details": {"causes": [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]},
}


@dataclass
class Asked:
    """An API, and the token that it uses."""

    api: Client
    token: Token
    requests: list[Json] = field(default_factory=list)


@asynccontextmanager
async def asking(*script: Answer) -> AsyncIterator[Asked]:
    """Give an API whose server answers from a script."""
    async with ScriptedServer([*script]).serving() as server:
        token = Token(server.url)
        async with Client(token) as api:  # type: ignore[arg-type]  # all that Api asks of it
            yield Asked(api, token, server.requests)


def spoken(code: int, content: bytes, **headers: str) -> Answer:
    """Answer with bytes."""

    async def answer(_: web.Request) -> web.StreamResponse:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return web.Response(status=code, body=content, headers=named)

    return answer


async def cut(request: web.Request) -> web.StreamResponse:
    """Break the connection before any answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def refusal(*script: Answer) -> ApiError:
    """Return the error of a GET."""
    async with asking(*script) as asked:
        with pytest.raises(ApiError) as caught:
            await asked.api.get("/api/v1/pods")
    return caught.value


async def test_an_object_is_given_as_it_is() -> None:
    async with asking(plain(200, {"kind": "Pod", "größe": [1, None]})) as asked:
        assert await asked.api.get("/api/v1/pods") == {"kind": "Pod", "größe": [1, None]}


@pytest.mark.parametrize(
    ("answer", "code", "reason", "message"),
    [
        pytest.param(plain(422, STATUS), 422, "Invalid", 'Pod "a" is invalid', id="a Status"),
        pytest.param(
            spoken(302, b""),
            0,
            "NoAnswer",
            "HTTP status 302",
            id="a redirect, which is not followed",
        ),
        pytest.param(
            spoken(502, b"<html>Bad Gateway</html>"),
            502,
            "Unknown",
            "<html>Bad Gateway</html>",
            id="a page of a proxy",
        ),
        pytest.param(spoken(503, b""), 503, "Unknown", "HTTP status 503", id="an empty answer"),
        pytest.param(plain(403, {}), 403, "Unknown", "HTTP status 403", id="an empty document"),
        pytest.param(
            spoken(200, b"<html>Log in</html>"),
            0,
            "NoAnswer",
            "<html>Log in</html>",
            id="a log-in page that calls itself a success",
        ),
        pytest.param(
            spoken(200, b"[1, 2]"), 0, "NoAnswer", "[1, 2]", id="a success of another kind"
        ),
        pytest.param(
            spoken(500, b"\xff\xfe broken"),
            500,
            "Unknown",
            "�� broken",
            id="bytes that are no text",
        ),
    ],
)
async def test_a_refusal_says_why(answer: Answer, code: int, reason: str, message: str) -> None:
    error = await refusal(answer)
    assert (error.code, error.reason, str(error)) == (code, reason, message)


async def test_a_connection_that_breaks_leaves_open_what_was_done() -> None:
    error = await refusal(cut, cut)
    assert (error.code, error.reason) == (0, "NoAnswer")
    assert "/api/v1/pods" in str(error)


async def test_a_server_that_is_not_there_is_told_by_its_path() -> None:
    async with Client(Token("http://127.0.0.1:9")) as api:  # type: ignore[arg-type]  # as above
        with pytest.raises(ApiError) as caught:
            await api.get("/api/v1/pods")
    assert caught.value.code == 0
    assert "GET /api/v1/pods" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("9" * 400, 300.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("-3", None),
    ],
)
async def test_retry_after_counts_in_seconds(header: str, seconds: float | None) -> None:
    error = await refusal(refused(429, "TooManyRequests", Retry_After=header))
    assert error.retry_after == seconds


async def test_retry_after_in_digits_of_another_kind_is_no_number() -> None:
    busy = encoded(b"{}", "Retry-After: ²".encode("latin-1"), status=b"429 Too Many Requests")
    async with fake_server(busy) as (server, _):
        token = Token(f"http://127.0.0.1:{server.port}")
        api = Client(token)  # type: ignore[arg-type]  # as above
        with pytest.raises(ApiError) as caught:
            async with api:
                await api.get("/api/v1/pods")
    assert (caught.value.code, caught.value.retry_after) == (429, None)


@pytest.mark.parametrize(
    ("details", "blamed"),
    [
        pytest.param(STATUS["details"], True, id="the field is named"),
        pytest.param({"causes": [{"field": "metadata.name"}]}, False, id="another field is named"),
        pytest.param({"causes": None}, False, id="causes are null"),
        pytest.param({}, False, id="no causes"),
        pytest.param(None, False, id="no details"),
    ],
)
async def test_an_error_blames_fields(details: Json | None, blamed: bool) -> None:
    error = await refusal(plain(422, {**STATUS, "details": details}))
    assert error.blames("metadata.uid") is blamed
    assert error.has_cause("FieldValueInvalid") is blamed


async def test_without_credentials_nothing_was_done() -> None:
    async with asking(plain(200, {})) as asked:
        asked.token.missing = 1
        with pytest.raises(ApiError, match="the token file is empty") as caught:
            await asked.api.get("/api/v1/pods")
        assert (caught.value.code, caught.value.reason) == (0, "NoCredentials")
        assert asked.requests == []
        await asked.api.get("/api/v1/pods")


async def test_a_token_that_has_expired_is_read_again_and_the_request_repeated() -> None:
    async with asking(refused(401, "Unauthorized"), plain(200, {"kind": "Pod"})) as asked:
        assert await asked.api.get("/api/v1/pods") == {"kind": "Pod"}
        assert [one["token"] for one in asked.requests] == ["Bearer first", "Bearer second"]


async def test_a_token_that_is_never_accepted_is_tried_twice_only() -> None:
    async with asking(*[refused(401, "Unauthorized")] * 3) as asked:
        with pytest.raises(ApiError) as caught:
            await asked.api.get("/api/v1/pods")
        assert (caught.value.code, asked.token.renewed) == (401, 1)
        assert len(asked.requests) == 2


CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(PODS.path(), "/api/v1/pods", id="all pods"),
        pytest.param(PODS.path("ns"), "/api/v1/namespaces/ns/pods", id="pods of a namespace"),
        pytest.param(
            PODS.path("ns", "a", "status"), "/api/v1/namespaces/ns/pods/a/status", id="a status"
        ),
        pytest.param(
            CLAIMS.path("ns", "a"),
            "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a",
            id="an object of a group",
        ),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected
