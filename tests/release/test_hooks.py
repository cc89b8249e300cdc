"""pre-commit itself and the steps of the action, as printed, on checkouts of three layouts."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

from tests.conformance.corpus.contents import claim, template
from tests.conformance.corpus.layouts import LAYOUTS, Tree

ROOT = Path(__file__).parents[2]
LAID_OUT = ("chart", "flux-app", "kustomize")
RIGHT: Tree = {"deviceClassName": "gpu.nvidia.com", "count": 1}
WRONG: Tree = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "Sometimes"}
MINUTES = 10 * 60

pytestmark = pytest.mark.slow


def checkout(folder: Path, layout: str, body: Tree) -> Path:
    """Make a repository of one layout, all files staged."""
    for name, text, _ in LAYOUTS[layout]("one", [template(body), claim(body)]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (folder / ".git").exists():
        run(["git", "init", "-q"], folder)
    run(["git", "add", "-A"], folder)
    return folder


def run(
    command: list[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=MINUTES,
    )


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """Install pre-commit into an environment of its own, with a cache of its own."""
    folder = tmp_path_factory.mktemp("pre-commit")
    venv.create(folder / "venv", with_pip=True)
    made = run([str(folder / "venv/bin/pip"), "install", "-q", "pre-commit==4.3.0"], folder)
    assert made.returncode == 0, made.stderr
    return str(folder / "venv/bin/pre-commit"), {"PRE_COMMIT_HOME": str(folder / "cache")}


def test_pre_commit_installs_the_hook_and_runs_it(
    tmp_path: Path, hooks: tuple[str, dict[str, str]]
) -> None:
    program, environment = hooks
    head = run(["git", "rev-parse", "HEAD"], ROOT).stdout.strip()
    if not head:
        pytest.skip("pre-commit installs hooks from a commit, and this folder is no repository")
    hook = {"repo": str(ROOT), "rev": head, "hooks": [{"id": "dragoman-check"}]}
    for layout in LAID_OUT:
        folder = tmp_path / layout
        folder.mkdir()
        (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hook]}))
        for body, status in ((RIGHT, 0), (WRONG, 1)):
            checkout(folder, layout, body)
            done = run([program, "run", "--all-files"], folder, environment)
            assert done.returncode == status, done.stdout + done.stderr
            assert ('Unsupported value: "Sometimes"' in done.stdout) is bool(status)


@pytest.mark.parametrize("layout", LAID_OUT)
def test_the_steps_of_the_action_run_as_printed(tmp_path: Path, layout: str) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
    [step] = [one for one in action["runs"]["steps"] if "run" in one]
    assert step["shell"] == "bash"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(ROOT / ".github/actions/check"),
        "RUNNER_TEMP": str(tmp_path),
        "PATHS": ".",
        "ARGUMENTS": "",
    }
    # As the runner starts `shell: bash`.
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    folder = tmp_path / "repository"
    folder.mkdir()
    for body, status in ((RIGHT, 0), (WRONG, 1)):
        checkout(folder, layout, body)
        done = run(shell, folder, environment)
        assert done.returncode == status, done.stdout + done.stderr
        lines = [one for one in done.stdout.splitlines() if one.startswith("::error")]
        assert bool(lines) is bool(status)
        assert all('Unsupported value: "Sometimes"' in one for one in lines)
