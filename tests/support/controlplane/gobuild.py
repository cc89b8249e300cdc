"""Build a binary from its pinned Go module, with progress that knows its total.

`go list -deps` says how many packages the binary consists of, and `go build -v` writes a line for
each that it compiles. Packages that Go has cached have no line.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.support.controlplane import standins
from tests.support.controlplane.artifacts import Artifact
from tests.support.controlplane.libraries import static_library
from tests.support.controlplane.recipes import Recipe
from tests.support.controlplane.toolchain import go_for

LINE_SECONDS = 15
"""Time between two progress lines, where standard error is no terminal."""
DRAW_SECONDS = 0.5
OPTIMIZED = ("-trimpath", "-gcflags=all=-dwarf=false")
"""Debug information, which `-ldflags=-w` would drop in the end, costs a seventh of the CPU time."""
QUICK = ("-trimpath", "-gcflags=all=-dwarf=false -l -c=1", "-gcflags=std=-dwarf=false -c=1")
"""Without inlining, but for the standard library, and with one thread a compiler: another fifth."""
COLLECTOR = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}
"""A compiler collects no garbage below 2 GiB: a fifth less CPU time, for the same program."""
NAMES = "-f={{if or .GoFiles .CgoFiles}}{{.ImportPath}}{{end}}"
"""Lists no package that has files of tests only: `go build` refuses it."""


def groups(wanted: Iterable[Artifact]) -> list[list[Artifact]]:
    """Group binaries that one `go build` can link: of one module, with the same options."""
    found: dict[object, list[Artifact]] = {}
    for one in wanted:
        recipe = one.recipe
        alone = recipe.test or Path(recipe.package).name != recipe.name
        key = one.target if alone else (one.module, one.flags, recipe.tags, recipe.library)
        found.setdefault(key, []).append(one)
    return [*found.values()]


def build(group: Sequence[Artifact], cache: Path, *, quick: bool = False) -> None:
    """Run `go build` with progress and move the results into place, each in one step.

    Args:
        group: what is built: one of `groups`.
        cache: folder for a Go and libraries that the machine lacks.
        quick: whether programs that run more slowly will do.

    Raises:
        RuntimeError: The build failed; the message ends with the compiler's own words.
    """
    first, recipe = group[0], group[0].recipe
    module, name = first.module, ", ".join(one.recipe.name for one in group)
    go = str(go_for(module, cache))
    minutes = sum(one.recipe.minutes for one in group)
    compiler = QUICK if quick else OPTIMIZED
    say(f"{name}: building from source, usually {minutes:g} min on 2 cores when nothing is cached")
    with tempfile.TemporaryDirectory(prefix=f".{recipe.name}-", dir=first.target.parent) as scratch:
        output, listed = Path(scratch) / "bin", Path(scratch) / "packages"
        output.mkdir()
        into = output if len(group) > 1 else output / recipe.name
        sources = [f"-tags={','.join(recipe.tags)}", *(one.recipe.package for one in group)]
        listing = [go, "list", "-deps", *(["-test"] if recipe.test else []), NAMES, *sources]
        verb = ["test", "-c", "-vet=off"] if recipe.test else ["build"]
        options = ["-v", *compiler, f"-ldflags={first.flags}", "-o", str(into)]
        environment = _environment(recipe, cache) | standins.environment(
            module / "go.mod", go, cache
        )
        with progress_of(name, Path(scratch) / "log") as progress:
            _run(listing, module, environment, progress, listed)
            packages = importable(listed)
            progress.total = len(packages)
            if recipe.test:  # `go test` does not say what it compiles
                compiling = [go, "build", "-v", *compiler, sources[0], *packages]
                _run(compiling, module, environment, progress)
            _run([go, *verb, *options, *sources], module, environment, progress)
        say(f"{name}: done in {clock(time.monotonic() - progress.start)}")
        for one in group:
            (output / one.recipe.name).replace(one.target)


def importable(listed: Path) -> list[str]:
    """Return the packages that `go list -deps -test` names, without those made of tests."""
    lines = listed.read_text().splitlines()
    return [line for line in lines if " " not in line and not line.endswith(".test")]


@dataclass(slots=True)
class BuildProgress:
    """How far one build is.

    Attributes:
        name: of the binary.
        log: what Go has written so far.
        drawn: the bar; disabled where standard error is no terminal, which gets lines instead.
        total: packages of the binary; 0 while Go still lists them.
        start: when it began, by the monotonic clock.
    """

    name: str
    log: Path
    drawn: Progress
    total: int = 0
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Return the time between two reports."""
        return LINE_SECONDS if self.drawn.disable else DRAW_SECONDS

    def report(self) -> None:
        """Draw the bar, or print a line."""
        modules, packages = counts(self.log)
        if self.drawn.disable:
            elapsed = clock(time.monotonic() - self.start)
            say(f"{self.name}: {phase(modules, packages, self.total)}, {elapsed} elapsed")
            return
        what = "packages compiled" if self.total else f"{modules} modules downloaded"
        [task] = self.drawn.tasks
        self.drawn.update(
            task.id,
            completed=min(packages, self.total),
            total=self.total or None,
            description=f"{self.name}: {what}",
        )


@contextmanager
def progress_of(name: str, log: Path, console: Console | None = None) -> Iterator[BuildProgress]:
    """Show a bar on standard error, where that is a terminal; it ends full."""
    console = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as drawn:
        task = drawn.add_task(name, total=None)
        progress = BuildProgress(name, log, drawn)
        yield progress
        # Packages that Go had cached have no line in the log.
        drawn.update(task, completed=progress.total, total=progress.total)


def counts(log: Path) -> tuple[int, int]:
    """Count the modules that Go has downloaded, and the packages that it has compiled."""
    lines = log.read_text().splitlines() if log.exists() else []
    modules = sum(line.startswith("go: ") for line in lines)
    return modules, len(lines) - modules


def phase(modules: int, packages: int, total: int) -> str:
    """Describe how far `go build -v` is."""
    return f"{packages} of {total} packages compiled" if total else f"{modules} modules downloaded"


def clock(seconds: float) -> str:
    """Format a duration as minutes:seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def say(line: str) -> None:
    """Print one progress line at once."""
    print(line, file=sys.stderr, flush=True)


def _run(
    command: list[str],
    module: Path,
    environment: dict[str, str],
    progress: BuildProgress,
    output: Path | None = None,
) -> None:
    """Run Go and report its progress; its messages go to the log, its answer to `output`."""
    with progress.log.open("ab") as log, (output or progress.log).open("ab") as answer:
        process = subprocess.Popen(command, cwd=module, env=environment, stdout=answer, stderr=log)
        try:
            while process.poll() is None:
                try:
                    process.wait(progress.seconds)
                except subprocess.TimeoutExpired:
                    progress.report()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode:
        tail = "\n".join(progress.log.read_text().splitlines()[-20:])
        raise RuntimeError(f"building {progress.name} failed\n{tail}")


def _environment(recipe: Recipe, cache: Path) -> dict[str, str]:
    """Return the compiler's environment: pure Go, unless the recipe needs a C library."""
    environment = COLLECTOR | os.environ
    if not recipe.library:
        return environment | {"CGO_ENABLED": "0"}
    return environment | {"CGO_ENABLED": "1"} | static_library(recipe.library, cache)
