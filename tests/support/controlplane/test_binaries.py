"""Where the binaries come from: lent ones first, else built once from the pinned modules."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.controlplane import artifacts, binaries
from tests.support.controlplane.recipes import RECIPES, Recipe
from tests.support.controlplane.toolchain import MODULES

ROOT = Path(__file__).parents[3]
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="compiles a program: needs Go on PATH")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DRAGOMAN_KUBERNETES", "KUBEBUILDER_ASSETS", artifacts.BUILD):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOCACHE", go_cache())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def go_cache() -> str:
    """Return Go's own cache, which moves with XDG_CACHE_HOME unless it is pinned."""
    if not (go := shutil.which("go")):
        return ""
    return subprocess.run(
        [go, "env", "GOCACHE"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a one-line program, a module of its own."""
    module = tmp_path / "modules" / "hello"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module example.com/hello\n\ngo 1.21\n")
    (module / "go.sum").write_text("")
    (module / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    monkeypatch.setattr(artifacts, "MODULES", tmp_path / "modules")
    return module


PROGRAM = Recipe("hello", "hello", ".", 0.1)


@pytest.mark.parametrize(
    ("asked", "version"),
    [("", "v1.36.3"), ("v1.34.4", "v1.34.4"), ("1.34.4", "v1.34.4"), ("v1.34", "v1.34.4")],
)
def test_the_environment_chooses_the_version(
    monkeypatch: pytest.MonkeyPatch, asked: str, version: str
) -> None:
    monkeypatch.setenv("DRAGOMAN_KUBERNETES", asked)
    assert binaries.chosen_version() == version


def test_a_version_that_nothing_pins_is_named_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_KUBERNETES", "v1.19.0")
    with pytest.raises(
        ValueError, match=r"v1\.19\.0 is not pinned here; known: v1\.34\.4, .*v1\.36\.3"
    ):
        binaries.chosen_version()


@pytest.mark.parametrize("name", ["v1.34.4", "v1.36.3"])
def test_the_linker_stamps_the_pinned_version(name: str) -> None:
    recipe = RECIPES["kube-apiserver"]
    flags = artifacts.linker_flags(recipe, MODULES / f"kubernetes-{name}")
    assert f"-X k8s.io/component-base/version.gitVersion={name}" in flags
    assert f"-X k8s.io/component-base/version.gitMinor={name.split('.')[1]}" in flags


def test_lent_binaries_come_first_but_never_those_that_are_always_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    for name in RECIPES:
        (tmp_path / name).touch()
    lent = {name for name, recipe in RECIPES.items() if binaries.ready_made(recipe, "v1.36.3")}
    assert lent == {"etcd", "kube-apiserver", "kubectl"}


def test_a_lent_api_server_of_another_version_than_asked_for_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lent = tmp_path / "kube-apiserver"
    lent.write_text("#!/bin/sh\necho Kubernetes v1.33.1\n")
    lent.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("DRAGOMAN_KUBERNETES", "v1.36.3")
    assert binaries.ready_made(RECIPES["kube-apiserver"], "v1.36.3") is None
    assert "is not v1.36.3, building it instead" in capsys.readouterr().err


@needs_go
def test_a_binary_is_built_once_and_again_when_its_pins_change(
    module: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = binaries.built(PROGRAM, "v1")
    assert target.is_relative_to(cache)
    assert subprocess.run([target], capture_output=True, check=True).stderr == b"hello\n"
    assert "hello: building from source, usually 0.1 min" in capsys.readouterr().err
    binaries.built(PROGRAM, "v1")
    assert capsys.readouterr().err == ""
    with (module / "go.mod").open("a") as pins:
        pins.write("\n// another pin\n")
    binaries.built(PROGRAM, "v1")
    assert "hello: done" in capsys.readouterr().err


@needs_go
@pytest.mark.usefixtures("module")
def test_a_quick_build_serves_until_an_optimized_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binaries.built(PROGRAM, "v1")
    monkeypatch.setenv(artifacts.BUILD, "optimized")
    assert capsys.readouterr().err
    target = binaries.built(PROGRAM, "v1")
    assert "hello: done" in capsys.readouterr().err
    assert subprocess.run([target], capture_output=True, check=True).stderr == b"hello\n"
    monkeypatch.delenv(artifacts.BUILD)
    binaries.built(PROGRAM, "v1")
    assert capsys.readouterr().err == "", "an optimized build serves everybody"


@pytest.mark.usefixtures("module")
def test_another_kind_of_build_is_refused_with_those_that_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(artifacts.BUILD, "fast")
    with pytest.raises(ValueError, match="DRAGOMAN_BUILD=fast: expected quick or optimized"):
        binaries.built(PROGRAM, "v1")


@pytest.mark.parametrize("target", ["bench", "bench-probe"])
def test_benchmarks_take_optimized_builds_alone(target: str, tmp_path: Path) -> None:
    # The Makefile without its prerequisites, with a benchmark that says what it is given.
    probe = tmp_path / "Makefile"
    text = (ROOT / "Makefile").read_text().replace("bench: controlplane ##", "bench: ##")
    probe.write_text(f"{text}\nbench-probe:\n\t@$(PY) -m tests.bench\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@ ${artifacts.BUILD}"\n')
    python.chmod(0o755)
    command = ["make", f"--makefile={probe}", f"PY={python}", target]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert said == "-m tests.bench optimized\n"


def test_etcd_has_the_modules_of_kubernetes() -> None:
    """Go compiles a package once for both where version and options are the same."""
    etcd, kubernetes = (
        dict(re.findall(r"^\s+(\S+) (v\S+)", (MODULES / name / "go.mod").read_text(), re.MULTILINE))
        for name in ("etcd", f"kubernetes-{binaries.DEFAULT_VERSION}")
    )
    both = etcd.keys() & kubernetes.keys()
    assert len(both) > 30
    assert {name: etcd[name] for name in both} == {name: kubernetes[name] for name in both}


@needs_go
@pytest.mark.usefixtures("module")
def test_a_binary_that_fits_every_version_is_built_for_the_first_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = binaries.built(PROGRAM, "v1")
    capsys.readouterr()
    second = binaries.built(PROGRAM, "v2")
    assert capsys.readouterr().err == ""
    assert first != second
    assert second.samefile(first)


@needs_go
def test_a_failed_build_shows_the_compilers_words_and_leaves_nothing(
    module: Path, cache: Path
) -> None:
    (module / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")
    with pytest.raises(RuntimeError, match=r"building hello failed(.|\n)*undefined: nonsense"):
        binaries.built(PROGRAM, "v1")
    assert {path.name for path in cache.glob("dragoman/controlplane/v1/*")} <= {".lock"}


@needs_go
def test_two_builds_at_once_compile_once(module: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.support.controlplane import artifacts, binaries\n"
        "artifacts.MODULES = Path(sys.argv[1])\n"
        f"binaries.built(binaries.Recipe({PROGRAM.name!r}, {PROGRAM.module!r}, '.', 1), 'v1')\n"
    )
    command = [sys.executable, "-c", code, str(module.parent)]
    both = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    errors = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("hello: done" in text for text in errors) == 1


def test_the_command_names_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert binaries.main(["kube-proxy"]) == 2
    assert "unknown: kube-proxy; known: etcd, kube-apiserver" in capsys.readouterr().err
