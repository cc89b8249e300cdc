"""Pages agree with the code, with each other, and with files that they show parts of."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dragoman.claims.reasons import ClaimReason
from tests.bench.claims.record import Record
from tests.docs.pages import ROOT, Block, blocks, pages
from tests.support.onepackage.sitecustomize import ORDER, module

DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
EXCERPTS = [block for page in pages() for block in blocks(page) if block.mark.startswith("from: ")]


def script(name: str) -> ModuleType:
    """Import a script of docs/, which are no packages."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    targets = [match[1] for match in LINK.finditer(text) if match[1]]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_test_that_a_page_names_exists(page: Path) -> None:
    for name, target in re.findall(r"\[`(test_\w+)`\]\(([^)#\s]+)\)", page.read_text()):
        assert f"def {name}(" in (page.parent / target).read_text()


@pytest.mark.parametrize("block", EXCERPTS, ids=lambda block: block.name)
def test_an_excerpt_is_a_part_of_its_file(block: Block) -> None:
    assert block.text in (ROOT / block.mark.removeprefix("from: ")).read_text()


def test_the_pictures_of_the_architecture_are_those_of_the_imports() -> None:
    architecture = script("generate_architecture")
    renew = "run `make pages`"
    drawn = {f"{plan.name}.svg": architecture.picture(plan) for plan in architecture.plans()}
    assert {path.name for path in (DOCS / "packages").glob("*.svg")} == drawn.keys(), renew
    for name, text in drawn.items():
        assert (DOCS / "packages" / name).read_text() == text, renew
    page = (DOCS / "architecture.md").read_text()
    assert page == architecture.renewed(page), renew


@pytest.mark.parametrize("page", ["operations.md", "comparison.md", "evidence.md"])
def test_measured_tables_are_those_of_the_record(page: str) -> None:
    renewed = script("generate_measurements").renewed(page, Record.read())
    assert (DOCS / page).read_text() == renewed, "run `make pages`"


@pytest.mark.parametrize("page", ["troubleshooting.md", "operations.md", "security.md"])
def test_metrics_that_are_named_exist(page: str) -> None:
    known = set(re.findall(r"^\| `(\w+)`", (DOCS / "metrics.md").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"\bdragoman_[a-z_]+", (DOCS / page).read_text()))
    assert named - known - set(map(module, ORDER)) == set()


def test_every_reason_of_an_event_is_in_troubleshooting() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    events = re.findall(r"\| `(\w+)` \|$", (DOCS / "reasons.md").read_text(), flags=re.MULTILINE)
    assert len(events) > 3
    assert [event for event in sorted(set(events)) if f"`{event}`" not in page] == []


def test_reasons_that_troubleshooting_names_are_real() -> None:
    ours = {reason.value for reason in ClaimReason}
    page = (DOCS / "troubleshooting.md").read_text()
    claimed = set(re.findall(r"\(`([A-Z]\w+)`(?:, `([A-Z]\w+)`)?\)", page))
    named = {name for pair in claimed for name in pair if name}
    assert named
    assert named - ours == set()


@pytest.mark.parametrize(
    "words",
    [
        "names neither a claim nor a template",
        "names for the claim are taken",
        "this driver's configs cannot be validated",
        "DriverConfigInvalid",
    ],
)
def test_words_of_ours_that_troubleshooting_quotes_are_in_the_code(words: str) -> None:
    assert words in (DOCS / "troubleshooting.md").read_text()
    sources = (path for root in ("operator", "webhooks") for path in (ROOT / root).rglob("*.py"))
    assert any(words in source.read_text() for source in sources)


def test_searches_find_tutorials_before_decisions() -> None:
    boost = script("site_hooks").boost
    assert boost("tutorial-pending-pod.md") > boost("toolkit/explain.md") > boost("metrics.md")
    assert boost("metrics.md") > boost("adr/0010-allocation.md") == boost("evidence.md")


def test_each_decision_has_a_number_of_its_own() -> None:
    found = sorted((DOCS / "adr").glob("*.md"))
    titles = [path.read_text().partition(". ")[0] for path in found]
    assert titles == [f"# {number}" for number in range(1, len(found) + 1)]
    assert [int(path.name[:4]) for path in found] == [*range(1, len(found) + 1)]


def test_each_reason_has_an_address() -> None:
    text = (ROOT / "docs/reasons.md").read_text()
    assert all(f'<a id="{one.value.lower()}"></a>`{one.value}`' in text for one in ClaimReason)


def test_links_out_of_the_site_lead_to_the_repository() -> None:
    replaced = script("site_hooks").replaced
    page = "[a](b.md) [c](../tests/docs) [R](../README.md#x) [d](https://e.f) [g](#h)"
    assert replaced(page, DOCS, "https://repo.example") == (
        "[a](b.md) [c](https://repo.example/tree/main/tests/docs) "
        "[R](https://repo.example/blob/main/README.md#x) [d](https://e.f) [g](#h)"
    )


def test_a_copy_button_gets_the_commands_without_prompts_and_output() -> None:
    commands = script("site_hooks").commands
    text = "$ kubectl apply \\\n  -f a.yaml\nfoo created\n$ kubectl get foo\n[…]\n"
    assert commands(text) == "kubectl apply \\\n  -f a.yaml\nkubectl get foo"


def test_every_column_of_a_table_has_a_name() -> None:
    unnamed = re.compile(r"^\|(?:[^\n]*\|)?[ ]*\|[^\n]*\n\|[-:| ]+\|$", re.MULTILINE)
    assert [page for page in pages() if unnamed.search(page.read_text("utf-8"))] == []
