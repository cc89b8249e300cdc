"""Write docs/checks.md from the checks of `dragoman conformance` and the faults that break them."""

from pathlib import Path

from dragoman_drivers.conformance import checks
from dragoman_drivers.conformance.scenarios import all_scenarios
from tests.support.mutants.table import MUTANTS, broken_check

PAGE = Path(__file__).with_name("checks.md")
HEAD = """\
# The checks of `dragoman conformance`

This page is made from code (`make pages`). `must`: an interface text or the kubelet depends on it.
`should`: breaking it has caused harm.
`info`: reported, never fails. Checks that wait are left out by `--quick`.
`dragoman conformance --explain ID` says what to change in a driver that fails. *Fault* breaks the
rule, as an option of the [pretended driver](conformance.md) in a checkout:
`python -m tests.support.mutants --fault NAME`.
"""


def page() -> str:
    """Return the page."""
    scenarios = all_scenarios()
    faults: dict[str, list[str]] = {}
    for name in MUTANTS:
        faults.setdefault(broken_check(name), []).append(f"`{name}`")
    parts = [HEAD]
    for letter, title in checks.GROUPS.items():
        rows = [one for one in checks.table() if one.id[0] == letter]
        parts.append(f"\n## {letter}. {title}\n\n| id | level | rule | source | fault |")
        parts.append("|---|---|---|---|---|")
        for one in rows:
            found = scenarios.get(one.id)
            note = " *(not built)*" if found is None else " *(waits)*" if found.waits else ""
            cells = (
                one.id,
                one.level,
                one.title + note,
                one.source,
                ", ".join(faults.get(one.id, [])),
            )
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
