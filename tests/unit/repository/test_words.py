"""The words of the code and of the pages: plain technical English, and one term for each concept.

A clean package or page stays clean; the lists at the end name what has still to be rewritten.
"""

import ast
import functools
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WORDS = {
    "whoever": "name the component or the user",
    "somebody": "name the component or the user",
    "nobody": "say what does not happen",
    "anew": "again",
    "for ever": "indefinitely",
    "in vain": "say what failed",
    "let go": "release",
    "dear": "expensive",
    "shall": "must",
    "meanwhile": "until then",
    "stead": "instead",
    "judgements?": "verdict, validation result",
    "opinions?": "response",
    "befalls?": "name the fault",
    "mends?": "fix, correct",
    r"vanish\w*|buried": "deleted",
    "what (?:became|becomes) of": "outcome, result",
    "told|tells": "report, state, name",
    r"as of the": "at, like",
    r"no (json|yaml)\b(?! \w)": "invalid JSON, invalid YAML",
    "in office|term of office": "leader, Lease",
    "at the door": "at admission",
    "lookout|freshness": "live read",
    r"(?<!\.)catalogues?\b(?![:\"])": "catalog",
    "takes? back|gives? back|given back|taken back": "deallocate, release",
}
PAGE_WORDS = {
    "rights": "permissions",
    "beside": "besides, alongside, next to",
    "refuses?": "rejects",
    r"may not list|may (?:not )?be read": "cannot list, cannot be read",
    r"(?:pod|you) may not": "cannot",
    "stock controller": "built-in controller",
    "what is the case": "meaning",
    r"examin(?:e|es|ed|ation|ations)": "check",
    "colours?|behaviours?": "the American spelling",
}
"""What pages, the chart, Events and the texts of commands do not say; comments of code may."""
KEPT = re.compile(r"docs/(?:adr|bench)/|CHANGELOG|\.json")
"""Records and measurements keep their words."""
BANNED = {word: re.compile(rf"\b(?:{word})\b", re.IGNORECASE) for word in WORDS}
PAGE_BANNED = {word: re.compile(rf"\b(?:{word})\b", re.IGNORECASE) for word in PAGE_WORDS}
EXEMPT = re.compile(r"`[^`\n]*`|Devices?HeldByNobody|[\w-]+nobody[\w-]*|https?://\S+|65534")
CODE = tuple(
    str(face.parent.relative_to(ROOT))
    for root in ("operator", "webhooks")
    for face in sorted((ROOT / root).glob("*/__init__.py"))
)
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "charts", "examples", "Makefile")
SUFFIXES = {".md", ".yaml", ".tpl", ".txt", ""}


@functools.lru_cache(maxsize=1)
def nodes(source: str) -> list[ast.AST]:
    """Return the nodes of the syntax tree of the module that is read last."""
    return list(ast.walk(ast.parse(source)))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of what people read: comments, docstrings and messages of a module."""
    source = path.read_text()
    if path.suffix != ".py":
        yield from enumerate(
            re.sub(r"^```.*?^```", _blank, source, flags=re.MULTILINE | re.DOTALL).split("\n"), 1
        )
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in nodes(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from enumerate(node.value.split("\n"), node.lineno)


def _blank(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n")


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of what users read: a page, or the strings of a module that it prints."""
    if path.suffix != ".py":
        yield from () if KEPT.search(str(path.relative_to(ROOT))) else texts(path)
        return
    tree = nodes(path.read_text())
    documented = {id(node.value) for node in tree if isinstance(node, ast.Expr)}
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            lines = () if id(node) in documented else node.value.split("\n")
            yield from enumerate(lines, node.lineno)


ANY = re.compile("|".join(f"\\b(?:{word})\\b" for word in WORDS | PAGE_WORDS), re.IGNORECASE)
JOINT = re.compile(r"[\"']\s*\n\s*[fr]?[\"'](?= )|(?<= )[\"']\s*\n\s*[fr]?[\"']")
"""Between two parts of one string, where a line of it goes on behind a space."""


def faults(path: Path) -> list[str]:
    """Return the words of a file that have a better one, with their lines."""
    # Few files have such a word even in their code, and only theirs have to be parsed.
    if not ANY.search(EXEMPT.sub("", JOINT.sub("", path.read_text().replace("\\n", "\n")))):
        return []
    return [
        f"{path.name}:{line}: {found[0]!r}: better {(WORDS | PAGE_WORDS)[word]}"
        for patterns, read in ((BANNED, texts), (PAGE_BANNED, messages))
        for line, text in read(path)
        for checked in [EXEMPT.sub("", text)]
        for word, pattern in patterns.items()
        if (found := pattern.search(checked))
    ]


def files(top: str) -> list[Path]:
    """Return the files below a path that people read."""
    place = ROOT / top
    if place.is_file():
        return [place]
    suffixes = {".py"} if top.startswith(CODE) else SUFFIXES
    return [one for one in sorted(place.rglob("*")) if one.is_file() and one.suffix in suffixes]


def areas() -> list[str]:
    """Return packages, top-level modules and pages, the generated ones apart."""
    inside = [path for top in (*CODE, "docs", "charts/dragoman") for path in (ROOT / top).iterdir()]
    found = {str(path.relative_to(ROOT)) for path in inside if path.name != "__pycache__"}
    return sorted(found | set(PAGES) - {"docs", "charts"})


@pytest.mark.parametrize("area", areas())
def test_words(area: str) -> None:
    assert [fault for path in files(area) for fault in faults(path)] == []


def test_every_package_of_the_wheel_is_read() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(CODE) == {*project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}


@pytest.mark.parametrize(
    "text",
    [
        "# Whoever\n",
        '"""No\n\nit begins anew."""\n',
        'x = "no JSON: x"\n',
        'x = "it refuses x"\n',
        'x = (\n    "it takes "\n    "back x"\n)\n',
        'x = "of a line:\\nwhoever"\n',
        "# one ` is odd\n# whoever `\n",
    ],
)
def test_a_banned_word_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(text)
    assert faults(tmp_path / "module.py")
