"""The generated pages of docs/ say what the code says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["metrics.md", "reasons.md"])
def test_a_generated_page_is_up_to_date(page: str) -> None:
    rendered = generator().PAGES[page]()
    assert (DOCS / page).read_text() == rendered, "run: python docs/generate_reference.py"


def test_every_fault_and_reason_is_explained() -> None:
    text = (DOCS / "reasons.md").read_text()
    from dragoman.claims.reasons import ClaimReason  # noqa: PLC0415 — beside what it is compared with
    from dragoman.controllers.claims.othercontroller import ControllerFault  # noqa: PLC0415 — as above

    missing = [r.value for r in (*ClaimReason, *ControllerFault) if f"`{r.value}`" not in text]
    assert missing == []
