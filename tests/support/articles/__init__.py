"""Manifests in the style of articles and vendors' pages, in `good/` and `bad/`."""

from pathlib import Path

ARTICLES = Path(__file__).parent
GOOD = sorted((ARTICLES / "good").iterdir())
BAD = sorted((ARTICLES / "bad").iterdir())


def expected(path: Path) -> str:
    """Return the rule that a bad article breaks."""
    return path.read_text().partition("\n")[0].removeprefix("# expect: ")
