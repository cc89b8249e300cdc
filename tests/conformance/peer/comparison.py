"""The table of verdicts: a vendor's webhook, the same vendor's driver, and dragoman.

What vendors' webhooks answer is recorded in `recorded.json`, since only building them tells it.

python -m tests.conformance.peer.comparison [--ask]    renews docs/comparison.md
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import click

from dragoman_webhooks.admission import review
from tests.bench.claims.table import markdown
from tests.conformance.peer.ask import ask
from tests.conformance.peer.cases import Case, all_cases
from tests.conformance.peer.competitors import EXAMPLE, GATES, NVIDIA
from tests.conformance.peer.serve import schemas

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "comparison.md"
RECORDED = Path(__file__).with_name("recorded.json")
BEGIN, END = "<!-- webhooks:begin -->", "<!-- webhooks:end -->"
VENDORS = (EXAMPLE, NVIDIA)
RIGHT = {
    "accepts": ("allows", "allows and warns"),
    "rejects": ("rejects",),
    "ignores": ("allows and warns",),
}
"""What a webhook should answer, by what the driver does later."""

Recorded = Mapping[str, Mapping[str, str]]
"""Words of the vendors' webhooks, by driver and title of the case."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case and what all say to it.

    Attributes:
        case: The case.
        vendor: The vendor's webhook's word.
        own: dragoman's.
    """

    case: Case
    vendor: str
    own: str

    @property
    def vendor_is_right(self) -> bool:
        """Tell whether the vendor's webhook foretells what the vendor's driver does."""
        return self.vendor in RIGHT[self.case.truth]

    @property
    def own_is_right(self) -> bool:
        """Tell whether dragoman foretells it."""
        return self.own in RIGHT[self.case.truth]


def recorded() -> Recorded:
    """Read what vendors' webhooks answered."""
    words: Recorded = json.loads(RECORDED.read_text())
    return words


def asked(cases: Iterable[Case]) -> Recorded:
    """Ask the vendors' webhooks themselves."""
    chosen = tuple(cases)
    by_vendor = {
        vendor.key: [case for case in chosen if case.vendor == vendor.key] for vendor in VENDORS
    }
    answers = ask({key: [case.body for case in some] for key, some in by_vendor.items()})
    words: dict[str, dict[str, str]] = {}
    for key, some in by_vendor.items():
        for case, word in zip(some, answers[key], strict=True):
            words.setdefault(case.driver, {})[case.title] = word
    return words


def rows(words: Recorded) -> tuple[Row, ...]:
    """Put dragoman's answers beside the vendors'."""
    registry = schemas((), [f"{gate}=true" for gate in GATES])

    def own(case: Case) -> str:
        response = json.loads(review(case.body.encode(), registry).body)["response"]
        if not response["allowed"]:
            return "rejects"
        return "allows and warns" if response.get("warnings") else "allows"

    return tuple(Row(case, words[case.driver][case.title], own(case)) for case in all_cases())


def section(found: Sequence[Row]) -> str:
    """Write the part of docs/comparison.md about webhooks."""
    apart = [row for row in found if not (row.vendor_is_right and row.own_is_right)]
    same = [row for row in found if row not in apart]
    own_faults = sum(not row.own_is_right for row in found)
    introduction = _INTRODUCTION.format(
        cases=len(found),
        titles=" and ".join(vendor.title for vendor in VENDORS),
        gates=", ".join(GATES),
    )
    differ = (
        f"dragoman is wrong in {own_faults or 'none'} of them. "
        "Where the two differ, or either is wrong:"
    )
    return "\n".join(
        [
            "## Vendors' webhooks",
            *(
                "\n" + fill(paragraph, 100, break_on_hyphens=False)
                for paragraph in introduction.split("\n\n")
            ),
            "",
            _counts(found),
            "",
            differ,
            "",
            _table(apart),
            "",
            f"<details><summary>The other {len(same)} cases, in which both are right</summary>",
            "",
            _table(same),
            "",
            "</details>",
        ]
    )


def renewed(page: str, text: str) -> str:
    """Return the page with the section replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


_INTRODUCTION = """\
A webhook is right if it rejects exactly what the driver would reject at prepare time, with the pod
stuck in ContainerCreating, and if it warns of what the driver would silently ignore. All webhooks
received the same {cases} AdmissionReviews: those of {titles}, built from their published Go
modules, with the feature gates {gates} on, and dragoman with its catalog and the same gates.

The driver's own code decides what is right; the tables and their sources are in
tests/unit/configs/data. "crashes" is a panic on the input, which the API server reports as
`EOF`: with `failurePolicy: Fail` the user does not see the reason. The vendors' charts register
their webhooks for claims and templates only, and these webhooks reject every DeviceClass that they
are sent. `make comparison` repeats the comparison.
"""


def _counts(found: Sequence[Row]) -> str:
    header = ("driver", "cases", "vendor's webhook right", "crashes", "dragoman right")
    lines = []
    for driver in dict.fromkeys(row.case.driver for row in found):
        some = [row for row in found if row.case.driver == driver]
        crashes = sum(row.vendor == "crashes" for row in some)
        vendor = sum(row.vendor_is_right for row in some)
        own = sum(row.own_is_right for row in some)
        lines.append((f"`{driver}`", *map(str, (len(some), vendor, crashes, own))))
    return markdown(header, lines)


def _table(some: Sequence[Row]) -> str:
    header = ("driver", "case", "vendor's webhook", "vendor's driver", "dragoman")
    lines = [
        (
            f"`{row.case.driver}`",
            row.case.title,
            row.vendor if row.vendor_is_right else f"**{row.vendor}**",
            row.case.truth,
            row.own if row.own_is_right else f"**{row.own}**",
        )
        for row in some
    ]
    return markdown(header, lines)


@click.command()
@click.option("--ask", "anew", is_flag=True, help="Build and ask the vendors' webhooks first.")
def main(*, anew: bool) -> None:
    """Renew docs/comparison.md."""
    if anew:
        words = asked(all_cases())
        RECORDED.write_text(json.dumps(words, indent=1) + "\n")
    PAGE.write_text(renewed(PAGE.read_text(), section(rows(recorded()))))


if __name__ == "__main__":
    main()
