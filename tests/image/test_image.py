"""The image runs: read-only, as uid 65532, found by nothing but its service account."""

import ssl
import stat
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import urllib3

from tests.e2e.running import answers, faults_in
from tests.e2e.webhook.harness import CONFIGURATIONS, NAME, configuration
from tests.e2e.webhook.rbac import SCHEMA_RULES, WEBHOOK_RULES
from tests.image.application import CHECKOUT
from tests.image.architecture import ARM64, native
from tests.image.build import Image, build
from tests.image.conftest import Unpacked
from tests.image.container import command
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.cluster import Rules
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import ThrowawayProcess, free_ports

pytestmark = pytest.mark.slow
NAMESPACE = "dragoman-system"
PAGE = frozenset({".css", ".js", ".j2"})
"""Suffixes of what the page of `kubectl dra ui` is made from."""
Start = Callable[..., ThrowawayProcess]


@pytest.fixture(scope="module")
def own_plane() -> Iterator[ControlPlane]:
    """A control plane with the CustomResourceDefinition and a namespace for dragoman."""
    with ControlPlane() as plane:
        plane.api().create(objects.namespace(NAMESPACE))
        plane.kubectl("apply", "-f", str(CHECKOUT / "crds/driverconfigschemas.yaml"))
        yield plane


@pytest.fixture
def start(own_plane: ControlPlane, runnable: Unpacked, tmp_path: Path) -> Iterator[Start]:
    """Run containers with a service account's files where a kubelet would mount them."""
    started: list[ThrowawayProcess] = []

    def run(account: str, rules: Rules, *arguments: str) -> ThrowawayProcess:
        user = own_plane.service_account(account, NAMESPACE, rules)
        run = tmp_path / account
        mounted = run / "secrets/kubernetes.io/serviceaccount"
        mounted.mkdir(parents=True)
        (mounted / "token").write_text(user.token)
        (mounted / "namespace").write_text(NAMESPACE)
        authority = own_plane.credentials.keys.authority
        (mounted / "ca.crt").write_bytes(authority.read_bytes())
        server = urllib3.util.parse_url(own_plane.server)
        environment = {
            "KUBERNETES_SERVICE_HOST": str(server.host),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        }
        inner = command(runnable.root, runnable.config, arguments, run=run, environment=environment)
        started.append(ThrowawayProcess(account, inner, tmp_path / f"{account}.log"))
        started[-1].start()
        return started[-1]

    yield run
    for process in started:
        process.kill()


def test_the_operator_makes_a_claim(own_plane: ControlPlane, start: Start) -> None:
    (port,) = free_ports(1)
    operator = start(
        "operator",
        SCHEMA_RULES,
        *("operator", "--claims=own", f"--metrics-address=127.0.0.1:{port}"),
    )

    def ready() -> bool:
        operator.check()
        return answers(port)

    wait_for(ready, 30, "the operator to be ready")
    api = own_plane.api()
    namespace = own_plane.create_namespace()
    api.create(objects.template("gpu", namespace, "gpu"))
    api.create(objects.pod("trainer", namespace, templates={"gpu": "gpu"}))
    (claim,) = wait_for(lambda: api.list("resourceclaims", namespace), message="a claim")
    assert claim["metadata"]["name"].startswith("trainer-gpu-")
    assert api.get("leases", "dragoman-operator", NAMESPACE)["spec"]["holderIdentity"]
    status = Path(f"/proc/{operator.pid}/status").read_text()
    assert "Uid:\t65532\t65532\t65532\t65532" in status
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status
    assert operator.stop(grace=10) == 0
    assert faults_in(operator.log.read_text()) == []


def test_the_webhook_is_ready_with_a_certificate_of_its_own(
    own_plane: ControlPlane, start: Start
) -> None:
    api = own_plane.api()
    place = {"name": "dragoman-webhook-tls", "namespace": NAMESPACE}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": place})
    port, _ = free_ports(2)
    api.create(configuration(port))
    webhook = start(
        "webhook",
        WEBHOOK_RULES,
        *("webhook", f"--address=127.0.0.1:{port}", "--tls=self", "--tls-host=127.0.0.1"),
    )

    def ready() -> bool:
        webhook.check()
        client = api.get(CONFIGURATIONS, NAME)["webhooks"][0]["clientConfig"]
        trusted = ssl.create_default_context(cadata=b64decode(client.get("caBundle", "")).decode())
        url = f"https://127.0.0.1:{port}/readyz"
        try:
            with urllib3.PoolManager(ssl_context=trusted) as pool:
                return pool.request("GET", url, retries=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    wait_for(ready, 30, "the webhook to be ready")
    assert webhook.stop(grace=10) == 0
    assert faults_in(webhook.log.read_text()) == []


def test_manifests_are_checked_with_the_catalog_inside(runnable: Unpacked, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "claims.yaml").write_bytes((CHECKOUT / "examples/configs/mistyped.yaml").read_bytes())
    asked = command(runnable.root, runnable.config, ["check", "-f", "/run/claims.yaml"], run=run)
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert answer.returncode == 1, answer.stderr
    assert "/run/claims.yaml:" in answer.stdout


def test_nothing_can_be_written_but_below_tmp(runnable: Unpacked, tmp_path: Path) -> None:
    attempt = (
        "import os\n"
        "for folder in ('/', '/app', '/run', '/home/nonroot', '/tmp'):\n"
        "    try: open(folder + '/x', 'w').close(); print(folder)\n"
        "    except OSError: pass\n"
    )
    python = {**runnable.config, "Entrypoint": runnable.config["Entrypoint"][:1]}
    run = tmp_path / "run"
    run.mkdir()
    asked = command(runnable.root, python, ["-c", attempt], run=run)
    answer = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["/tmp"]


def files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def test_no_file_gives_privileges_and_there_is_no_shell(unpacked: Unpacked) -> None:
    privileged = stat.S_ISUID | stat.S_ISGID
    assert [path for path in files(unpacked.root) if path.stat().st_mode & privileged] == []
    programs = [path.name for path in files(unpacked.root / "usr/bin")]
    assert programs == ["python3.13"]
    assert list(files(unpacked.root / "usr/sbin")) == []


def test_there_are_neither_caches_nor_manuals_nor_package_managers(unpacked: Unpacked) -> None:
    root = unpacked.root
    unwanted = ["var/cache", "var/lib/apt", "usr/share/man", "usr/share/info", "app/pip", "app/bin"]
    assert [name for name in unwanted if (root / name).exists()] == []
    assert {path.name for path in files(root / "usr/share/doc")} <= {"copyright"}


def test_every_source_has_bytecode_that_is_never_checked_again(unpacked: Unpacked) -> None:
    compiled = 0
    for path in (unpacked.root / "app").rglob("*.py"):
        code = path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc"
        if code.exists():
            compiled += 1
            assert code.read_bytes()[4:8] == b"\x01\x00\x00\x00", path  # PEP 552: unchecked hash
        else:
            assert "dragoman" not in path.parts, path
    assert compiled > 1000


def test_every_library_that_is_asked_for_is_there(unpacked: Unpacked) -> None:
    here = native()
    loader = unpacked.root / here.loader
    libraries = unpacked.root / here.libraries
    asked = [
        path for path in files(unpacked.root) if ".so" in path.name and path != loader.resolve()
    ]
    missing = []
    for path in asked:
        bundled = path.parent.parent / f"{path.parent.name}.libs"
        listing = subprocess.run(
            [loader, "--library-path", f"{libraries}:{bundled}", "--list", path],
            capture_output=True,
            text=True,
            check=False,
        )
        missing += [line for line in listing.stdout.splitlines() if "not found" in line]
    assert missing == []
    assert len(asked) > 50


def test_scanners_find_the_packages(unpacked: Unpacked) -> None:
    records = unpacked.root / "var/lib/dpkg/status.d"
    assert {"libc6", "libssl3t64", "python3.13-minimal"} <= {
        path.name for path in records.iterdir()
    }
    assert "VERSION_CODENAME=trixie" in (unpacked.root / "etc/os-release").read_text()


def test_a_second_build_gives_the_same_bytes(image: Image, tmp_path: Path) -> None:
    again = build(tmp_path)
    assert again.digest == image.digest
    assert again.archive.read_bytes() == image.archive.read_bytes()


@pytest.mark.skipif(native() == ARM64, reason="it is what the other tests are about")
def test_an_image_for_the_other_architecture_has_its_programs(tmp_path: Path) -> None:
    root = build(tmp_path, ARM64).root
    aarch64 = (183).to_bytes(2, "little")  # EM_AARCH64
    for path in [root / "usr/bin/python3.13", *(root / "app").rglob("*.so")]:
        assert path.read_bytes()[18:20] == aarch64, path
    assert (root / "app/dragoman/__pycache__/__init__.cpython-313.pyc").exists()


def test_the_page_of_the_toolkit_has_its_files(runnable: Unpacked) -> None:
    source, inside = CHECKOUT / "operator/dragoman_toolkit/dra/ui", "app/dragoman_toolkit/dra/ui"
    files = [path.relative_to(source) for path in source.rglob("*.*") if path.suffix in PAGE]
    assert {path.name for path in files} >= {"page.css", "page.js", "page.html.j2"}
    for path in files:
        assert (runnable.root / inside / path).read_bytes() == (source / path).read_bytes()
