"""What scenarios conclude from a driver's behaviour, without a control plane."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dragoman_drivers.conformance.checks import FailedError, NotRunError
from dragoman_drivers.conformance.profile import DriverProfile
from dragoman_drivers.conformance.scenarios import operation
from dragoman_drivers.conformance.scenarios.cdi import showing
from dragoman_drivers.conformance.scenarios.operation import api_version, metrics
from dragoman_drivers.conformance.scenarios.registration import endpoint
from dragoman_drivers.conformance.scenarios.slices import gone_node
from dragoman_drivers.conformance.site import Site

Json = Mapping[str, Any]
SECRET = 'to"ken'


class Called:
    """A node whose driver prepares claims, and refuses those with some configs."""

    def __init__(self, refused: tuple[Any, ...] = (), **profile: Any) -> None:
        self.profile = DriverProfile(metrics="http://x", **profile)
        self.setting = SimpleNamespace(quick=True)
        self.proxy = SimpleNamespace(requests=[])
        self.subject = SimpleNamespace(places=SimpleNamespace(fill=str), kill=lambda: None)
        self.counts = {"prepare_total": 0.0, "prepare_seconds": 0.0, "prepare_errors": 0.0}
        self.names_claims = False
        self._refused = refused
        self._made = 0

    def take(self, _: int) -> list[str]:
        return ["gpu-0"]

    def opaque(self, parameters: Any) -> Any:
        return parameters

    def claim(self, *_: str, config: Any = ()) -> Json:
        self._made += 1
        return {"metadata": {"uid": f"uid-{self._made}", "name": "c"}, "config": config}

    def prepared(self, _: Json) -> None:
        if self.names_claims:
            self.counts[f"prepare{{claim=uid-{self._made}}}"] = 1
        self.counts["prepare_total"] += 1
        self.counts["prepare_seconds"] += 0.1

    def refused(self, claim: Json) -> str:
        if not any(one in self._refused for one in claim["config"]):
            self.prepared(claim)
            return ""
        self.counts["prepare_errors"] += 1
        return "no"

    def unprepared(self, _: Json) -> None:
        pass

    unprepare = unprepared


def measured(site: Called, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(operation, "_series", lambda _: dict(site.counts))
    return str(metrics(cast(Site, site)))


@pytest.mark.parametrize(
    "site",
    [
        Called(),
        Called(good=({"kind": "A"},)),  # a driver that accepts unknown fields
    ],
)
def test_metrics_are_checked_where_no_config_is_refused(
    site: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "errors not tried" in measured(site, monkeypatch)
    site.names_claims = True
    with pytest.raises(FailedError, match="a claim as a label"):
        measured(site, monkeypatch)


def test_metrics_of_errors_are_checked_with_a_config_that_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Called(({"kind": "B"},), good=({"kind": "A"},), bad=(({"kind": "B"}, ""),))
    assert "prepare_errors with an error" in measured(site, monkeypatch)


def test_a_must_that_quick_tries_in_part_is_not_passed() -> None:
    with pytest.raises(NotRunError, match="--quick"):
        api_version(cast(Site, Called()))


class Cluster:
    """A cluster that has a Node and one slice of its driver."""

    def __init__(self, *kinds: str) -> None:
        self.node, self.there = "n", True
        self.api = self.subject = self
        owners = [{"kind": one, "uid": f"of-{one}"} for one in kinds]
        self._slices = [{"metadata": {"name": "s", "ownerReferences": owners}}]

    def slices(self) -> list[Json]:
        return [*self._slices]

    pool_complete = slices

    def wait(self, look: Any, *_: object) -> None:
        assert look()

    def find(self, *_: str) -> Json | None:
        return {"metadata": {"uid": "of-Node"}} if self.there else None

    def delete(self, resource: str, _: str) -> None:
        if resource == "nodes":
            self.there = False
        else:
            self._slices = []

    def kill(self) -> None:
        pass

    def create_node(self) -> None:
        self.there = True

    def step(self, _: str) -> None:
        pass


def test_a_further_owner_must_not_keep_the_slices_of_a_deleted_node() -> None:
    assert gone_node(cast(Site, Cluster("Node"))) == "1 of 1 slices go with the Node"
    assert gone_node(cast(Site, Cluster("DaemonSet"))) == "0 of 1 slices go with the Node"
    with pytest.raises(FailedError, match="s outlives its Node"):
        gone_node(cast(Site, Cluster("Node", "DaemonSet")))


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("a.json", rb'{"env": ["A=to\"ken"]}', True),
        ("a.json", rb'{"env": ["A={\"x\": \"to\\\"ken\"}"]}', True),
        ("a.yaml", b"env: ['A=to\"ken']", True),
        ("folder/a", b'to"ken', True),
        ("a.json", b'\xff to"ken', True),
        ("a.json", b'\xff{"env": ["A=token"]}', False),
    ],
)
def test_a_secret_in_a_cdi_folder_is_found_however_it_is_spelled(
    tmp_path: Path, name: str, content: bytes, shown: bool
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    assert showing(tmp_path, SECRET) == [name] * shown


class Served:
    """A second API server, and a driver whose slices cannot be deleted."""

    def __init__(self) -> None:
        self.url, self.killed = "https://second", False
        self.process = SimpleNamespace(kill=self._kill)

    def _kill(self) -> None:
        self.killed = True


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> tuple[Site, Served]:
    """Return a node that fails where the driver is to change its API server, and that server."""

    def fail(_: Site) -> None:
        raise OSError("no answer")

    server, site = Served(), object.__new__(Site)
    plane = SimpleNamespace(start_server=lambda _: server, server=SimpleNamespace(url="usual"))
    monkeypatch.setattr(Site, "wipe", fail)
    site.setting = cast(Any, SimpleNamespace(plane=plane))
    site.proxy = cast(Any, SimpleNamespace(target="usual"))
    return site, server


def test_a_further_api_server_ends_where_the_change_to_it_fails(
    served: tuple[Site, Served],
) -> None:
    site, server = served
    with pytest.raises(OSError, match="no answer"), site.served_by(()):
        pass
    assert server.killed
    assert site.proxy.target == "usual"


@pytest.mark.parametrize("name", ["a%2fb.sock", "a?b.sock", "a#b.sock"])
def test_an_endpoint_that_the_kubelet_would_decode_is_a_fault(name: str, tmp_path: Path) -> None:
    info = SimpleNamespace(endpoint=str(tmp_path / name))
    site = cast(Site, SimpleNamespace(info=info, kubelet=tmp_path))
    with pytest.raises(FailedError, match=r"kubelet of 1\.38 rejects"):
        endpoint(site)
