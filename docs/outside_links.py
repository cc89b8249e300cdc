"""A hook of mkdocs: what the site needs to know of the checkout.

Pages link to files outside of docs/, which is right where the repository is read. On the site such
a link becomes the file's path. Decisions and runbooks come into the navigation by themselves.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
SECTIONS = {"Decisions": "adr", "Runbooks": "runbooks"}


def on_config(config: Any) -> Any:
    """Add a section for each folder of pages."""
    docs = Path(config["docs_dir"])
    for title, folder in SECTIONS.items():
        pages = sorted((docs / folder).glob("*.md"))
        config["nav"].append({title: [str(page.relative_to(docs)) for page in pages]})
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links that leave docs/ by the path of what they lead to."""
    return replaced(markdown, Path(page.file.abs_src_path).parent, ROOT / "docs")


def replaced(markdown: str, folder: Path, docs: Path) -> str:
    """Return a page of `folder` with links that stay within `docs`, and paths for the others."""

    def plain(match: re.Match[str]) -> str:
        label, target = match[1], (folder / match[2]).resolve()
        if target.is_relative_to(docs) and target.suffix != ".py":
            return match[0]
        path = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else match[2]
        return label if path in label else f"{label} (`{path}`)"

    return LINK.sub(plain, markdown)
