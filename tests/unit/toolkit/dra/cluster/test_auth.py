"""Which rights commands need, what is missing of them, and the role that grants them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from dragoman_toolkit.dra.cluster.auth import COMMANDS
from dragoman_toolkit.dra.cluster.permissions import cluster_role
from dragoman_toolkit.dra.cluster.rights import DRA, Need, of_command
from dragoman_toolkit.dra.ui.problems import LINKED
from tests.support.dra import invoke, validator


def named(command: str, *, rules: bool = False, binding: bool = True) -> set[str]:
    needs = of_command(command, "ns", ["pods.", f"nodes.{DRA}"], rules=rules, binding=binding)
    return {str(need) for need in needs}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("rules", [True, False])
def test_the_role_grants_what_a_command_needs(command: str, *, rules: bool) -> None:
    needs = of_command(command, "ns", ["pods."], rules=rules, binding=True)
    granted = {
        (group, resource, verb)
        for rule in cluster_role(needs)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {(one.group, one.resource, one.verb) for one in needs} <= granted


def test_holds_are_rules_or_claims() -> None:
    assert f"create devicetaintrules.{DRA}" in named("hold", rules=True)
    assert f"create resourceclaims.{DRA} in namespace ns" in named("hold")
    assert not any("devicetaintrules" in need for need in named("hold"))


def test_allocations_are_authorized_twice_since_1_36() -> None:
    assert f"patch resourceclaims/binding.{DRA}" in named("release")
    assert named("release", binding=False) == {f"patch resourceclaims/status.{DRA}"}


def test_a_drain_evicts_and_the_page_watches() -> None:
    assert {"create pods/eviction", "delete pods"} <= named("drain")
    assert {"watch pods", f"watch nodes.{DRA}"} <= named("ui")


def test_the_page_reads_what_it_links_to() -> None:
    read = {need.partition(".")[0] for need in named("ui") if not need.startswith("watch ")}
    plurals = (f"{kind}s".replace("Classs", "Classes").lower() for kind in LINKED)
    assert read == {*(f"get {plural}" for plural in plurals), "list events"}


def test_the_role_has_each_verb_once() -> None:
    needs = [Need("patch", "pods"), Need("patch", "pods"), Need("delete", "pods")]
    assert cluster_role(needs)["rules"][-1]["verbs"] == ["patch", "delete"]


class Reviews(BaseHTTPRequestHandler):
    """An API server that lets its user list pods, and evict them, and nothing else."""

    def do_GET(self) -> None:
        versions = [{"version": "v1"}]
        self._answer(
            {
                "/version": {"major": "1", "minor": "36+"},
                "/apis": {"groups": [{"name": DRA, "versions": versions}]},
            }.get(self.path.partition("?")[0], {"resources": []})
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = body["spec"]["resourceAttributes"]
        key = (wanted["verb"], wanted["resource"], wanted.get("subresource", ""))
        allowed = key in {("list", "pods", ""), ("create", "pods", "eviction")}
        self._answer({"status": {"allowed": allowed}})

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Reviews)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of that API server."""
    with served() as address:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = tmp_path / "config"
        file.write_text(yaml.safe_dump(document))
        yield file


def test_rights_to_write_are_looked_at_where_a_command_is_named(kubeconfig: Path) -> None:
    plain = invoke("auth", "--kubeconfig", kubeconfig, "-o", "json")
    assert plain.exit_code == 1
    assert json.loads(plain.stdout)["further"] == []
    found = invoke("auth", "--kubeconfig", kubeconfig, "--for", "all", "-n", "ml", "-o", "json")
    assert found.exit_code == 1
    document = json.loads(found.stdout)
    validator().validate(document)
    allowed = {
        (one["command"], one["verb"], one["resource"]): one["allowed"]
        for one in document["further"]
    }
    assert {key for key, granted in allowed.items() if granted} == {
        ("drain", "create", "pods/eviction")
    }
    assert allowed["release", "patch", "resourceclaims/binding"] is False
    assert {command for command, _, _ in allowed} == {*COMMANDS}
    printed = invoke("auth", "--kubeconfig", kubeconfig, "--for", "drain", "-n", "ml").stdout
    row = next(line for line in printed.splitlines() if "pods/eviction" in line)
    assert row.split() == ["drain", "create", "pods/eviction", "everywhere", "yes"]
    assert "adopt" not in printed
