"""What README.md tells people to do, and where it sends them, exists."""

import html
import re
from pathlib import Path

import click
import pytest

from dragoman.cli import cli
from tests.demo.record import SHOWN
from tests.demo.steps import STEPS

ROOT = Path(__file__).parent.parent.parent.parent
README = (ROOT / "README.md").read_text()
INSTALL = (ROOT / "docs/install.md").read_text()
DEMO = (ROOT / "docs/demo.md").read_text()
LINKS = re.findall(r"\[(`?[^]]+)\]\((?!https?://)([^)]+)\)", README)
CODE = "\n".join(
    re.findall(r"```sh\n(.*?)```", README + INSTALL, re.DOTALL) + re.findall(r"`(.+?)`", README)
)
TARGETS = set(re.findall(r"\bmake ([a-z][a-z-]*)\b", CODE))
COMMANDS = re.findall(r"^dragoman (\S+)(.*)$", CODE, re.MULTILINE)


@pytest.mark.parametrize("target", sorted(TARGETS | {"demo", "test"}))
def test_every_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("text", "path"), LINKS)
def test_every_link_into_the_repository_leads_somewhere(text: str, path: str) -> None:
    assert (ROOT / path.partition("#")[0]).exists()
    if text.startswith("`test_"):
        assert f"def {text.strip('`')}(" in (ROOT / path).read_text()


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, f"README names the command {name}, which does not exist"
    return found


def test_every_command_and_flag_exists() -> None:
    assert COMMANDS
    for name, rest in COMMANDS:
        known = {flag for option in command(name).params for flag in option.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known


def test_every_mode_of_claims_is_explained() -> None:
    modes = next(one for one in command("operator").params if one.name == "claims")
    explained = re.findall(r"^\| `([a-z]+)` \|", INSTALL, re.MULTILINE)
    assert sorted(explained) == sorted(modes.type.choices)  # type: ignore[attr-defined]


TITLES = {f"{number}  {step.title}" for number, step in enumerate(STEPS, 1)}


def test_the_pasted_output_is_of_today() -> None:
    pasted = re.findall(r"^\d  .+$", DEMO, re.MULTILINE)
    assert pasted
    assert set(pasted) <= TITLES
    files = re.findall(r"\$ kubectl apply -f (\S+)", DEMO)
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_recorded_demo_has_the_steps_of_today() -> None:
    assert "](demo.svg)" in DEMO
    picture = html.unescape((ROOT / "docs/demo.svg").read_text()).replace("\xa0", " ")
    recorded = re.findall(r">(\d+  [^<]+)</text>", picture)
    assert [title.strip() for title in recorded if title.strip() in TITLES] == [
        f"{place + 1}  {STEPS[place].title}" for place in SHOWN
    ]
    assert re.findall(r"url\(['\"]?http|xlink:href|<image|@import", picture) == []


def test_a_reader_meets_the_two_commands_first_and_reads_three_pages_at_most() -> None:
    lines = README.splitlines()
    typed = re.findall(r"^make \w+", "\n".join(lines[:40]), re.MULTILINE)
    assert {"make demo", "make test"} <= set(typed)
    assert len(lines) <= 150


def test_the_benchmark_finds_its_place() -> None:
    assert README.count("<!-- bench:begin -->") == README.count("<!-- bench:end -->") == 1
    assert README.index("<!-- bench:begin -->") < README.index("<!-- bench:end -->")
