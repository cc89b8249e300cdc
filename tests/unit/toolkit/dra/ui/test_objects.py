"""Objects that the page links to: YAML and Events, for the kinds and names that it has."""

from typing import Any, cast

import pytest
import yaml

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.dra.ui.objects import SHOWN, described

Json = dict[str, Any]
POD = {
    "metadata": {"name": "trainer", "namespace": "ml", "managedFields": [{"manager": "kubectl"}]},
    "spec": {"nodeName": "node-\u202ea"},
}


def event(number: int, **more: Any) -> Json:
    return {
        "metadata": {"creationTimestamp": f"2026-11-22T11:{number:02}:00Z"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": f"attempt {number}\nof many",
        **more,
    }


class Answers:
    """Answers of an API server by path.

    Args:
        found: Objects and lists; an ApiError for what is refused.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.asked: list[tuple[str, Json]] = []

    async def get(self, path: str, **query: str) -> Any:
        self.asked.append((path, query))
        answer = self.found.get(path, ApiError(404, "NotFound", f"{path} not found"))
        if isinstance(answer, ApiError):
            raise answer
        return answer


async def text(found: dict[str, Any], *names: str) -> str:
    return await described(cast("Client", Answers(found)), *names)


def events(*items: Json) -> Json:
    return {"metadata": {}, "items": [*items]}


async def test_a_pod_is_yaml_with_its_events_as_comments() -> None:
    answers = Answers(
        {
            "/api/v1/namespaces/ml/pods/trainer": POD,
            "/api/v1/namespaces/ml/events": events(
                event(2, series={"lastObservedTime": "2026-11-22T11:59:00Z"}), event(1)
            ),
        }
    )
    shown = await described(cast("Client", answers), "Pod", "ml", "trainer")
    document = yaml.safe_load(shown)
    assert (document["apiVersion"], document["kind"]) == ("v1", "Pod")
    assert document["spec"] == POD["spec"]
    assert "managedFields" not in shown
    assert shown.isascii()
    assert shown.splitlines()[-2:] == [
        "#   2026-11-22T11:01:00Z Warning FailedScheduling: attempt 1 of many",
        "#   2026-11-22T11:59:00Z Warning FailedScheduling: attempt 2 of many",
    ]
    selector = answers.asked[-1][1]["fieldSelector"]
    assert selector == "involvedObject.kind=Pod,involvedObject.name=trainer"


async def test_the_newest_events_are_shown() -> None:
    many = events(*(event(number) for number in range(SHOWN + 5)))
    found = {"/api/v1/nodes/n": {"metadata": {}}, "/api/v1/namespaces/default/events": many}
    shown = await text(found, "Node", "", "n")
    assert shown.count("FailedScheduling") == SHOWN
    assert "attempt 0 " not in shown


async def test_who_may_not_list_events_has_the_object() -> None:
    refused = ApiError(403, "Forbidden", "events is forbidden")
    found = {"/api/v1/nodes/n": {"metadata": {}}, "/api/v1/namespaces/default/events": refused}
    assert "# Events cannot be listed: " in await text(found, "Node", "", "n")


async def test_what_the_api_server_refuses_is_said() -> None:
    refused = ApiError(403, "Forbidden", "pods is forbidden")
    with pytest.raises(Unusable, match="pods is forbidden"):
        await text({"/api/v1/namespaces/ml/pods/trainer": refused}, "Pod", "ml", "trainer")


@pytest.mark.hostile("page: names")
@pytest.mark.parametrize(
    "names",
    [
        ("Secret", "ml", "token"),
        ("Pod", "", "trainer"),
        ("Pod", "ml", ""),
        ("Pod", "ml", "../../secrets/token"),
        ("Pod", "../kube-system", "trainer"),
        ("Pod", "ml", "trainer/log"),
        ("Pod", "ml", "trainer?watch=true"),
        ("Pod", "ml", "a" * 300),
        ("Node", "", ".."),
    ],
)
async def test_nothing_else_is_asked_for(names: tuple[str, str, str]) -> None:
    answers = Answers({})
    with pytest.raises(KeyError):
        await described(cast("Client", answers), *names)
    assert answers.asked == []
