"""A cluster that is newer than what is known is never answered silently."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.allocation import profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import read
from dragoman.kube import discovery
from dragoman.kube.discovery import warn_beyond
from dragoman_base.versions import NEWEST, beyond, name
from dragoman_toolkit.dra.ui.page import page
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import (
    CLASS,
    DRIVER,
    claim,
    device_class,
    held,
    pod,
    pool,
    snapshot,
)

NEWER = f"{NEWEST[0]}.{NEWEST[1] + 1}"
SAID = f"by the rules of {name(NEWEST)}; this cluster is {NEWER}"
DEVICE = f"{DRIVER}/n1/a"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    trainer = pod("trainer", "ml", claims={"gpu": "gpu"}, node="n1")
    made = Desk(tmp_path)
    seen = snapshot(
        device_class(),
        pool("n1", ["a"]),
        pool("n2", ["a"]),
        held(claim("gpu", "ml"), ("n1", "a"), pods=[trainer]),
        trainer,
        pod("waiting", "ml", claims={"gpu": "none"}),
        claim("none", "ml"),
    )
    made.write(replace(seen, kubernetes=f"v{NEWER}.0"))
    return made


COMMANDS = [
    ("explain", "pod", "ml/waiting"),
    ("explain", "claim", "ml/gpu"),
    ("explain", "class", CLASS),
    ("explain", "device", DEVICE),
    ("top", "classes"),
    ("top", "nodes"),
    ("top", "namespaces"),
    ("top", "pods"),
    ("top", "queues"),
    ("simulate", "pod", "ml/waiting"),
    ("undrain", DEVICE, "--dry-run"),
    ("doctor", "--target", "1.38"),
    ("who", DEVICE),
    ("who", "pod", "trainer", "-n", "ml"),
    ("doctor",),
    ("holds",),
    ("preempt", "pod", "ml/waiting", "--dry-run"),
    ("defrag", "--for", "ml/waiting"),
    ("migrate", "report"),
    ("migrate", "classes"),
    ("migrate", "plan"),
    ("version",),
    ("snapshot",),
    ("hold", DEVICE, "--dry-run"),
    ("drain", DEVICE, "--dry-run"),
    ("taint", DEVICE, "a=b:NoSchedule", "--dry-run"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_say_by_whose_rules_they_answer(desk: Desk, words: tuple[str, ...]) -> None:
    printed = invoke(*words, "--snapshot", desk.file)
    assert SAID in printed.output


def test_the_page_says_it(desk: Desk) -> None:
    with desk.file.open("rb") as file:
        seen = read(file)
    assert SAID in page(take(parse(seen), profile("1.36")), seen).notes


def test_the_log_of_the_operator_says_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    warn_beyond.cache_clear()
    logged: list[str] = []
    said = SimpleNamespace(warning=lambda _, answers: logged.append(answers))
    monkeypatch.setattr(discovery, "log", said)
    for _ in range(2):
        warn_beyond(f"v{NEWER}.1")
    warn_beyond("v1.36.3")
    assert logged == [SAID]


def test_nothing_is_said_of_versions_that_are_known_or_of_none() -> None:
    assert [beyond(text) for text in (f"v{name(NEWEST)}.99", "v1.34.0", "", "tomorrow")] == [""] * 4
