"""Hooks of mkdocs: what the site needs to know of the checkout.

Pages link to files outside of docs/, which is right where the repository is read; on the site such
a link leads to the repository. Decisions, runbooks and codes are in the navigation by themselves.
Copy buttons of a console block copy its commands, without prompts and output.
"""

import html
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
SECTIONS = {
    "Operate": ("Runbooks", "runbooks"),
    "Reference": ("Codes of migrate", "losses"),
    "Internals": ("Decisions", "adr"),
}
# What readers paste is an Event or an error: tutorials answer it, decisions and evidence seldom do.
BOOSTS = (
    (re.compile(r"tutorial-|troubleshooting|quickstart|which-command"), 4.0),
    (re.compile(r"toolkit/|check\.md|reasons\.md|runbooks/"), 2.0),
    (
        re.compile(r"adr/|packages/|architecture|evidence|upstream|comparison|kubernetes-versions"),
        0.2,
    ),
)
BLOCK = re.compile(r'<div class="highlight"><pre>(.*?)</pre>', re.DOTALL)
PROMPT = '<span class="gp">'
SEARCH = 'data-md-component="search" role="dialog"'
SECTION = re.compile(
    r'<nav class="md-nav" (data-md-level="\d+") aria-labelledby="[^"]+" aria-expanded="\w+">'
)
TAG = re.compile(r"<[^>]+>")


def on_config(config: Any) -> Any:
    """Add each folder of pages to the section of its readers."""
    docs = Path(config["docs_dir"])
    for section in config["nav"]:
        for name, pages in section.items():
            if name in SECTIONS:
                title, folder = SECTIONS[name]
                found = sorted((docs / folder).glob("*.md"))
                pages.append({title: [str(page.relative_to(docs)) for page in found]})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replace links that leave docs/ by links to the repository, and rank the page in searches."""
    page.meta.setdefault("search", {"boost": boost(page.file.src_uri)})
    return replaced(markdown, Path(page.file.abs_src_path).parent, config["repo_url"])


def boost(path: str) -> float:
    """Return the weight of a page in searches, by its path below docs/."""
    return next((weight for pattern, weight in BOOSTS if pattern.match(path)), 1.0)


def replaced(markdown: str, folder: Path, repository: str) -> str:
    """Return a page of `folder` whose links stay within docs/, or lead to the repository."""

    def link(match: re.Match[str]) -> str:
        label, target = match[1], (folder / match[2]).resolve()
        if target.is_relative_to(DOCS) and target.suffix != ".py":
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"[{label}]({repository}/{kind}/main/{target.relative_to(ROOT)}{match[3] or ''})"

    return LINK.sub(link, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Tell copy buttons what they copy, and let keys scroll long lines."""
    return BLOCK.sub(usable, content)


def usable(block: re.Match[str]) -> str:
    """Return a block that keys can scroll, with what its copy button copies if it has prompts."""
    copied = ""
    if PROMPT in block[1]:
        copied = f' data-copy="{html.escape(commands(html.unescape(TAG.sub("", block[1]))))}"'
    return f'<div class="highlight"{copied}><pre tabindex="0">{block[1]}</pre>'


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search dialog; only the whole navigation is a landmark, not its sections."""
    output = output.replace(SEARCH, f'{SEARCH} aria-label="Search"')
    return SECTION.sub(r'<nav class="md-nav" \1 role="presentation">', output)


def commands(text: str) -> str:
    """Return the commands of a console block: lines after `$ `, and those that continue them."""
    found: list[str] = []
    continues = False
    for line in text.splitlines():
        if continues or line.startswith("$ "):
            found.append(line if continues else line.removeprefix("$ "))
            continues = line.endswith("\\")
    return "\n".join(found)
