"""Write docs/losses: a page for each code of `kubectl dra migrate`, and their list."""

from pathlib import Path

from dragoman_toolkit.migration.losses import Code

FOLDER = Path(__file__).with_name("losses")
LIST = """\
# Codes of kubectl dra migrate

These pages are made from code (`make pages`). `kubectl dra explain --reason CODE` says the same
without a cluster. [`kubectl dra migrate`](../toolkit/migrate.md) gives each loss a rank: `blocks`
(pods do not run, or run without their devices), `breaks` (a behavior that users rely on ends),
`changes` (numbers and names change), or `note`.

| code | meaning |
|---|---|
"""
PAGE = """\
# {code}

{meaning}

**Remedy:** {remedy}.

`kubectl dra migrate report -o wide` says which resources and workloads it concerns. There are a
[list of codes](index.md) and a tutorial: [Move a GPU fleet to DRA](../tutorial-move-to-dra.md).
"""


def pages() -> dict[str, str]:
    """Return the pages by name."""
    rows = "".join(f"| [{one}]({one}.md) | {one.meaning} |\n" for one in sorted(Code))
    found = {
        f"{one}.md": PAGE.format(code=one, meaning=one.meaning, remedy=one.remedy) for one in Code
    }
    return {"index.md": LIST + rows, **found}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
