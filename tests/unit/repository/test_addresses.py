"""The addresses of the project stand in pyproject.toml, and every other place agrees with them."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
OWN = re.compile(r"https://(?:github\.com/[\w.-]+/dragoman|dragoman\.(?!example\b)[a-z]+)\b")


def tracked() -> list[Path]:
    """Return the files of the checkout that can have an address."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = done.stdout.split("\0") if done.returncode == 0 else []
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_all_addresses_are_those_of_the_settings() -> None:
    known = {URLS["Source"], URLS["Homepage"]}
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path != Path(__file__)
        for match in OWN.finditer(path.read_text(errors="replace"))
        if match[0] not in known
    }
    assert found == set(), "change these together with [project.urls] of pyproject.toml"


def test_the_addresses_are_used() -> None:
    assert URLS["Source"] in (ROOT / "docs/check.md").read_text()
    rules = ROOT / "operator/dragoman_toolkit/linting/rules/table.py"
    assert URLS["Homepage"] in rules.read_text()
