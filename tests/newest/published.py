"""What the Go module proxy serves: releases of Kubernetes, and modules of one release.

A pre-release requires modules that nobody has published yet. They are replaced by the nearest
version that is served, or named.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import oracle
from tests.support.controlplane import standins
from tests.support.controlplane.artifacts import cache_root
from tests.support.controlplane.gobuild import say

KUBERNETES = "k8s.io/kubernetes"
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)(?:-(alpha|beta|rc)\.(\d+))?")
_UNSERVED = re.compile(r"(?:^|\s)([\w.\-/~]+)@(v[\w.\-+]+): .*(?:40[34]|410|unknown revision)")
_NEEDED = re.compile(r"requires go (?:>|\\u003e)= ([\d.]+)")
_TOOLCHAIN = re.compile(r"^toolchain (\S+)$", re.MULTILINE)
_STAGES = ("alpha", "beta", "rc", None)


class UnbuildableError(Exception):
    """A program of the release cannot be built; the words say why."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release, such as v1.38.0-beta.0."""

    tag: str  # As of k8s.io/kubernetes
    modules: str  # The version of its other modules, such as v0.38.0-beta.0
    minor: tuple[int, int]  # Such as (1, 38)


def order(tag: str) -> tuple[int, ...]:
    """Return where a release stands among others; raise ValueError for what is none."""
    match = _RELEASE.fullmatch(tag)
    if match is None:
        raise ValueError(f"{tag!r} is no release: expected one such as v1.38.0 or v1.38.0-beta.0")
    numbers = tuple(int(match[group]) for group in (1, 2, 3))
    return (*numbers, _STAGES.index(match[4]), int(match[5] or 0))


def release(tag: str) -> Release:
    """Return a release by its tag; raise ValueError."""
    order(tag)
    major, minor = tag[1:].split(".")[:2]
    return Release(tag, f"v0{tag[2:]}", (int(major), int(minor)))


def newest(tags: Iterable[str]) -> str:
    """Return the newest release among tags; other tags do not count. Raise ValueError for none."""
    found = max((tag for tag in tags if _RELEASE.fullmatch(tag)), key=order, default="")
    if not found:
        raise ValueError(f"the module proxy names no release of {KUBERNETES}")
    return found


def run(command: Sequence[str], folder: Path | None = None, **environment: str) -> str:
    """Return what Go writes; raise UnbuildableError with its words where it fails."""
    answer = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if answer.returncode:
        raise UnbuildableError((answer.stderr or answer.stdout)[-4000:])
    return answer.stdout


def versions(module: str) -> list[str]:
    """Return the versions of a module that are served, the oldest first."""
    try:
        return run(["go", "list", "-m", "-versions", module], Path("/")).split()[1:]
    except UnbuildableError:
        return []


def folder(module: str, version: str) -> Path:
    """Return the folder with the sources of a module, after downloading it."""
    asked = ["go", "mod", "download", "-json", f"{module}@{version}"]
    environment = {"GOFLAGS": "-mod=mod"}
    try:
        told = run(asked, Path("/"), **environment)
    except UnbuildableError as error:
        needed = _NEEDED.search(str(error))
        if needed is None:
            raise
        told = run(asked, Path("/"), **environment, GOTOOLCHAIN=toolchain(needed[1], pinned()))
    return Path(json.loads(told)["Dir"])


def pinned() -> str:
    """Return the newest toolchain that a file of modules here names."""
    found = (_TOOLCHAIN.search(path.read_text()) for path in sorted(oracle.SOURCES.glob("*.mod")))
    return max((match[1] for match in found if match), key=_numbers)


def language(text: str) -> str:
    """Return the version of Go that a go.mod asks for, such as "1.27.0"."""
    match = re.search(r"^go (\S+)$", text, re.MULTILINE)
    return match[1] if match else "1.21"


def toolchain(needed: str, pinned: str) -> str:
    """Return the toolchain to build with: the pinned one, where it is new enough."""
    return pinned if _numbers(pinned) >= _numbers(needed) else f"go{needed}"


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text.partition("-")[0])]


def repinned(text: str, of: str, release: Release, needed: str) -> str:
    """Return a go.mod with the modules of another release.

    Args:
        text: The go.mod, whose indirect requirements are left to `go mod tidy`.
        of: The version of Kubernetes' modules in it, such as v0.37.2.
        release: The one that is wanted.
        needed: The version of Go that it asks for.
    """
    lines = [line for line in text.splitlines() if not line.endswith("// indirect")]
    named = _TOOLCHAIN.search(text)
    chosen = toolchain(needed, named[1] if named else "go0")
    kept = "\n".join(line for line in lines if not line.startswith("toolchain "))
    kept = re.sub(r"^go \S+$", f"go {needed}\n\ntoolchain {chosen}", kept, flags=re.MULTILINE)
    kept = kept.replace(f" {of}", f" {release.modules}")
    return kept.replace(f"{KUBERNETES} v1{of[2:]}", f"{KUBERNETES} {release.tag}") + "\n"


def unserved(words: str) -> dict[str, str]:
    """Return the modules, with versions, that Go's words say are not served."""
    return {match[1]: match[2] for line in words.splitlines() if (match := _UNSERVED.search(line))}


def substitute(version: str, served: Iterable[str]) -> str:
    """Return the newest served version before one, of the same major version; "" for none."""
    key = _numbers(version)
    fitting = [one for one in served if _numbers(one)[:1] == key[:1] and _numbers(one) < key]
    return max(fitting, key=_numbers, default="")


def tidy(home: Path, modules: str, replaced: dict[str, str]) -> tuple[str, ...]:
    """Let Go complete a file of modules, and replace what is not served.

    Args:
        home: The folder of the program.
        modules: The name of the file.
        replaced: Replacements that are known, by module; gets those that are made.

    Returns:
        What is missing, in words.

    Raises:
        UnbuildableError: Go fails for another reason than a module that is not served.
    """
    file = home / modules
    environment = standins.environment(file, "go", cache_root())
    command = ["go", "mod", "tidy", f"-modfile={modules}"]
    with file.open("a") as written:
        for name, other in replaced.items():
            written.write(f"\nreplace {name} => {name} {other}\n")
    try:
        return tried(command, file, replaced, environment)
    except UnservedError as error:
        run([*command, "-e"], home, **environment)
        return error.missing


class UnservedError(UnbuildableError):
    """Modules are not served, and nothing stands in for them."""

    def __init__(self, missing: Sequence[str], words: str) -> None:
        super().__init__("; ".join(missing) or words)
        self.missing = tuple(missing)


def tried(
    command: Sequence[str], file: Path, replaced: dict[str, str], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Run Go in the folder of a file of modules, and replace in it what is not served.

    Returns:
        What is missing, in words.

    Raises:
        UnservedError: Nothing stands in for what is missing.
        UnbuildableError: Go fails for another reason.
    """
    missing: list[str] = []
    while True:
        try:
            run(command, file.parent, **environment)
        except UnbuildableError as error:
            found = unserved(str(error))
            others = {name: substitute(found[name], versions(name)) for name in found}
            new = {name: other for name, other in others.items() if other and name not in replaced}
            if not new:
                alone = [f"module {name} {found[name]} is not served" for name in found]
                raise (UnservedError([*missing, *alone], str(error)) if found else error) from None
            missing += [
                f"module {name} {found[name]} is not served; {other} stands in for it"
                for name, other in new.items()
            ]
            replaced |= new
            with file.open("a") as written:
                for name, other in new.items():
                    written.write(f"\nreplace {name} => {name} {other}\n")
        else:
            return tuple(missing)


def copied(sources: Path, home: Path, names: str = "*.go") -> None:
    """Copy the sources of a program, anew."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for path in sorted(sources.glob(names)):
        shutil.copy(path, home)


def announce(what: str) -> None:
    """Say what runs now."""
    say(f"newest: {what}")
