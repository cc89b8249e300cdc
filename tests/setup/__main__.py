"""`python3 -m tests.setup demo|tests`: make .venv and install pinned packages into it.

`demo` installs what dragoman itself needs; `tests` adds everything of tests, lint and docs. uv
installs them, because it needs a fifth of pip's CPU time or less; pip installs uv, and takes over
where uv fails. Every package is compared with its pinned hash.

Runs on the standard library alone: nothing is installed yet.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINS = Path(__file__).parent
VENV = ROOT / ".venv"
SETS = {
    "demo": (ROOT / "requirements.txt", PINS / "build.txt"),
    "tests": (ROOT / "tests/requirements.txt",),
}
UV = PINS / "uv.txt"
LINE_SECONDS = 15.0
"""Time between two progress lines."""


class SetupError(Exception):
    """A step failed; the message has the last lines of its output, and the remedy."""


def main(arguments: list[str]) -> int:
    """Install one set of packages; returns 2 for an unknown set, 1 where a step failed."""
    if len(arguments) != 1 or arguments[0] not in SETS:
        say(f"usage: python3 -m tests.setup {'|'.join(SETS)}")
        return 2
    try:
        make_environment(VENV)
        install(VENV, SETS[arguments[0]])
        install_dragoman(VENV)
    except SetupError as error:
        say(str(error))
        return 1
    return 0


def make_environment(venv: Path) -> None:
    """Create the virtual environment, unless it is there and its Python is new enough.

    Raises:
        SetupError: This Python cannot create one.
    """
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    try:
        suits = subprocess.run([venv / "bin/python", "-c", code], check=False).returncode == 0
    except OSError:
        suits = False
    if suits:
        return
    say(f"making {venv.name} with Python {sys.version.split()[0]}")
    try:
        run([sys.executable, "-m", "venv", "--clear", venv], "making the virtual environment")
    except SetupError as error:
        raise SetupError(
            f"{error}\ninstall the venv module of this Python (on Debian: python3-venv)"
        ) from error


def install(venv: Path, pinned: tuple[Path, ...]) -> None:
    """Install the pinned packages with uv, or with pip where uv fails.

    Raises:
        SetupError: Neither could, for example because a hash differs.
    """
    files = [word for path in pinned for word in ("--requirement", str(path))]
    count = sum(map(packages, pinned))
    what = f"installing {count} pinned packages"
    start = time.monotonic()
    try:
        provide_uv(venv)
        run([*uv_install(venv), "--require-hashes", *files], what)
    except SetupError as error:
        say(f"{error}\nuv failed; pip, which reads its own configuration, takes over")
        run([*pip_install(venv), "--require-hashes", *files], what)
    say(f"{count} pinned packages installed, {time.monotonic() - start:.0f} s")


def provide_uv(venv: Path) -> None:
    """Install the pinned uv, unless it is there."""
    wanted = UV.read_text().split()[0].replace("==", " ")
    try:
        found = subprocess.run(
            [venv / "bin/uv", "--version"], capture_output=True, text=True, check=False
        )
    except OSError:
        pass
    else:
        if f"{found.stdout} ".startswith(f"{wanted} "):
            return
    run([*pip_install(venv), "--require-hashes", "--requirement", str(UV)], f"installing {wanted}")


def install_dragoman(venv: Path) -> None:
    """Install the checkout itself, without a copy: changes take effect at once."""
    options = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    if (venv / "bin/uv").exists():
        run([*uv_install(venv), *options], "installing dragoman")
    else:
        run([*pip_install(venv), *options], "installing dragoman")


def uv_install(venv: Path) -> list[str]:
    """Return the command that installs with uv."""
    command = [str(venv / "bin/uv"), "pip", "install", "--python", str(venv / "bin/python")]
    return command if sys.stderr.isatty() else [*command, "--quiet"]


def pip_install(venv: Path) -> list[str]:
    """Return the command that installs with pip."""
    python = str(venv / "bin/python")
    return [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def packages(pinned: Path) -> int:
    """Count the packages that a file pins."""
    return sum("==" in line for line in pinned.read_text().splitlines())


def run(command: list[str | Path], what: str) -> None:
    """Run a command, and say every 15 seconds that it still does.

    uv draws its own bars on a terminal. Elsewhere the output is kept for the message of a failure.

    Raises:
        SetupError: It failed.
    """
    drawn = sys.stderr.isatty() and "--quiet" not in command and "uv" in Path(command[0]).name
    environment = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    if not drawn:
        say(what)
    with tempfile.TemporaryFile("w+") as output:
        sink = None if drawn else output
        try:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=sink, stderr=sink, text=True
            )
        except OSError as error:
            raise SetupError(f"{what} failed: {error}") from error
        with process:
            for tick in itertools.count(1):
                try:
                    process.wait(LINE_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    if not drawn:
                        say(f"{what}: {int(tick * LINE_SECONDS)} s elapsed")
        output.seek(0)
        if process.returncode:
            tail = "\n".join(output.read().splitlines()[-10:])
            raise SetupError(f"{what} failed\n{tail}".rstrip())


def say(line: str) -> None:
    """Print one line of progress, or of an error, at once."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
