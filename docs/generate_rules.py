"""Write the table and the pages of the rules of `dragoman check` into docs/check.md."""

from pathlib import Path

from dragoman_toolkit.check.explaining import pages
from dragoman_toolkit.linting.rules.table import RULES

PAGE = Path(__file__).with_name("check.md")
BEGIN, END = "<!-- rules:begin -->", "<!-- rules:end -->"


def page() -> str:
    """Return the page with the generated part as the code says it now."""
    text = PAGE.read_text(encoding="utf-8")
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    rows = [
        f"| [`{one.id}`](#{one.id.replace('/', '')}) | {one.severities or one.severity} |"
        for one in RULES.values()
    ]
    parts = [f"### {name}\n\n{pages()[name]}\n" for name in RULES]
    table = "\n".join(["| rule | severity |", "|---|---|", *rows])
    return f"{head}{BEGIN}\n{table}\n\n" + "\n".join(parts) + f"\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
