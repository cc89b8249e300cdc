"""The pages that people read, and the commands in them.

Blocks that are fenced as `sh` hold commands, which must succeed; those fenced as `console` hold
commands after `$ ` and what they print, `[…]` standing for any lines. Tests run all of them: with
kubectl, helm or curl in them on a cluster that has dragoman, else in a shell. A comment in the line
before a block says otherwise:

* `<!-- needs an empty cluster -->`
* `<!-- not run: REASON -->`; so is a block with `<placeholders>`
* `<!-- from: FILE -->`: no commands, but a part of that file
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+?) -->\n)?^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN, SHELL, CLUSTER, EMPTY_CLUSTER = "not run", "a shell", "a cluster", "an empty cluster"
CLIENTS = re.compile(r"^(?:\$ )?(?:kubectl|helm)\b", re.MULTILINE)
PLACEHOLDER = re.compile(r"<[a-z][a-z-]*>")
ANYTHING = "[…]"


def pages() -> list[Path]:
    """Return every page of the repository that has a reader."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    folders = [
        path for name in ("docs", "examples", "charts") for path in (ROOT / name).rglob("*.md")
    ]
    return sorted([*(path for path in top if path.exists()), *folders])


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a page.

    Attributes:
        line: What is typed.
        output: What the page says that it prints; None where the page does not say.
    """

    line: str
    output: str | None


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        page: Where it stands.
        line: Its number there.
        mark: The comment before it, without its frame; empty without one.
        language: The first word after the fence.
        text: What it holds.
    """

    page: Path
    line: int
    mark: str
    language: str
    text: str

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether it holds commands."""
        return self.language in {"sh", "console"}

    @property
    def needs(self) -> str:
        """What it needs: `a shell`, `a cluster`, `an empty cluster`; or `not run`."""
        if self.mark.startswith("needs "):
            return self.mark.removeprefix("needs ")
        if self.mark.startswith(NOT_RUN) or (
            self.language == "sh" and PLACEHOLDER.search(self.text)
        ):
            return NOT_RUN
        return CLUSTER if CLIENTS.search(self.text) else SHELL

    @property
    def commands(self) -> list[Command]:
        """Its commands, in order; a block of `sh` is one."""
        if self.language == "sh":
            return [Command(self.text, None)]
        parts = re.split(r"^\$ ", self.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
        typed = (part.partition("\n") for part in parts)
        return [Command(line, output) for line, _, output in typed]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1 + bool(found["mark"]),
            found["mark"] or "",
            (found["language"].split() or [""])[0],
            found["text"],
        )
        for found in FENCE.finditer(text)
    ]


def agrees(printed: str, said: str) -> bool:
    """Tell whether output is what a page says: ends of lines apart, `[…]` for any lines."""
    pattern = r"(?:.*\n)*?".join(
        re.escape("\n".join(line.rstrip() for line in part.splitlines()))
        + ("\n" if part.strip() else "")
        for part in re.split(rf"^{re.escape(ANYTHING)}\n", said, flags=re.MULTILINE)
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, lines) is not None
