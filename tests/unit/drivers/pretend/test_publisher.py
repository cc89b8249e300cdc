"""How often the pretended driver asks the API server."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from dragoman_drivers.pretend.publisher import Publisher
from dragoman_drivers.pretend.slices import PretendPool
from dragoman_drivers.throwaway.api import Api

Json = dict[str, Any]


class Counting:
    """An API server that has Nodes and ResourceSlices, and counts requests."""

    def __init__(self) -> None:
        self.slices: dict[str, Json] = {}
        self.requests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _count(self, verb: str) -> None:
        with self._lock:
            self.requests[verb] += 1

    def list(self, _: str, **__: str) -> list[Json]:
        self._count("list")
        return [*self.slices.values()]

    def get(self, _: str, name: str) -> Json:
        self._count("get")
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"u-{name}"}}

    def create(self, manifest: Mapping[str, Any]) -> Json:
        self._count("create")
        return self._keep(manifest, 1)

    def update(self, manifest: Mapping[str, Any]) -> Json:
        self._count("update")
        known = self.slices[manifest["metadata"]["name"]]
        return self._keep(manifest, known["metadata"]["generation"] + 1)

    def delete(self, _: str, name: str) -> None:
        self._count("delete")
        del self.slices[name]

    def _keep(self, manifest: Mapping[str, Any], generation: int) -> Json:
        meta = {**manifest["metadata"], "generation": generation, "resourceVersion": "1"}
        self.slices[meta["name"]] = {**manifest, "metadata": meta}
        return self.slices[meta["name"]]


def test_many_pools_take_one_list_and_two_requests_each_and_none_at_rest() -> None:
    api = Counting()
    pools = [PretendPool("d", f"n{at}", ({"name": "a"},)) for at in range(30)]
    publisher = Publisher(cast(Api, api), lambda: pools)
    publisher.step()
    assert api.requests == {"list": 1, "get": 30, "create": 30}
    publisher.step()
    assert api.requests == {"list": 2, "get": 30, "create": 30}


def test_what_others_change_or_delete_is_repaired_and_nothing_else_is_written() -> None:
    api = Counting()
    pool = PretendPool("d", "n", tuple({"name": f"a{at}"} for at in range(200)))
    publisher = Publisher(cast(Api, api), lambda: [pool])
    publisher.step()
    first, second = api.slices
    wanted = {name: one["spec"]["devices"] for name, one in api.slices.items()}
    api.update({**api.slices[first], "spec": {**api.slices[first]["spec"], "devices": []}})
    publisher.step()
    del api.slices[second]
    publisher.step()
    assert {name: one["spec"]["devices"] for name, one in api.slices.items()} == wanted
    publisher.step()
    assert api.requests == {"list": 4, "get": 1, "create": 3, "update": 2}


def test_pools_of_one_node_are_published_apart_and_one_that_is_gone_is_deleted() -> None:
    api = Counting()
    pools = [
        PretendPool("d", "n", ({"name": "a"},)),
        PretendPool("d", "n", ({"name": "a"},), name="n/2"),
    ]
    publisher = Publisher(cast(Api, api), lambda: pools)
    publisher.step()
    publisher.step()
    assert api.requests == {"list": 2, "get": 1, "create": 2}
    assert sorted(one["spec"]["pool"]["name"] for one in api.slices.values()) == ["n", "n/2"]
    assert not [name for name in api.slices if "/" in name]
    pools.pop()
    publisher.step()
    assert [one["spec"]["pool"]["name"] for one in api.slices.values()] == ["n"]
