"""Draw the packages from the code's imports: `make pages`.

Renews docs/architecture.md, which has the tower of packages and the inside of each, and their
pictures in docs/packages. Boxes are packages and modules, arrows are what they import, sentences
are their docstrings': nothing in a picture can be claimed without code. Rows are the layers of the
contracts in pyproject.toml, which `make lint` keeps.
"""

import functools
import importlib
import sys
import tomllib
from dataclasses import dataclass
from html import escape
from math import ceil
from pathlib import Path
from textwrap import wrap

import grimp

DOCS = Path(__file__).parent
PAGE = DOCS / "architecture.md"
PICTURES = DOCS / "packages"

LINTER = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]
ROOTS: list[str] = LINTER["root_packages"]
CONTRACTS = LINTER["contracts"]

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 250, 104, 70, 52, 40
LINE, LETTERS = 16, 36
COLUMNS = 5
"""A layer of more boxes is drawn in several rows."""


@dataclass(frozen=True, slots=True)
class Box:
    """A package or module."""

    name: str  # Such as `dragoman.claims`
    says: str  # The first sentence of its docstring
    imports: tuple[str, ...]  # Boxes of the same picture that it imports
    stands_on: tuple[str, ...]  # Packages of others that it imports, the standard library apart
    pure: bool  # Whether a contract in pyproject.toml keeps effects out of it


@dataclass(frozen=True, slots=True)
class Plan:
    """One picture: a contract of layers."""

    name: str  # Of its file and of its mark in the page, such as `toolkit`
    rows: tuple[tuple[str, ...], ...]  # The names of the boxes, from top to bottom

    @property
    def columns(self) -> int:
        """How many boxes its widest row has."""
        return max(map(len, self.rows))

    @property
    def places(self) -> dict[str, tuple[float, int]]:
        """Column and row of each box."""
        return {
            name: ((self.columns - len(names)) / 2 + column, row)
            for row, names in enumerate(self.rows)
            for column, name in enumerate(names)
        }


def plans() -> list[Plan]:
    """Return the pictures: the tower first, then the inside of each package."""
    return [_plan(one) for one in CONTRACTS if one["type"] == "layers"]


def _plan(contract: dict[str, list[str]]) -> Plan:
    (container,) = contract.get("containers", [""])
    rows = []
    for layer in contract["layers"]:
        names = [f"{container}.{name}" if container else name for name in layer.split(" | ")]
        size = ceil(len(names) / ceil(len(names) / COLUMNS))
        rows += [tuple(names[at : at + size]) for at in range(0, len(names), size)]
    return Plan(_short(container) if container else "tower", tuple(rows))


def _short(name: str) -> str:
    return name.removeprefix("dragoman_").rpartition(".")[2]


@functools.cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(*ROOTS, include_external_packages=True, cache_dir=None)


def boxes(plan: Plan) -> list[Box]:
    """Return the boxes of a picture."""
    ours: dict[str, set[str]] = {name: set() for name in plan.places}
    others: dict[str, set[str]] = {name: set() for name in plan.places}
    for module in _graph().modules:
        if (box := _within(module, ours)) is not None:
            for imported in _graph().find_modules_directly_imported_by(module):
                top = imported.partition(".")[0]
                if (target := _within(imported, ours)) is not None:
                    ours[box].add(target)
                elif top not in ROOTS and top not in sys.stdlib_module_names:
                    others[box].add(top)
    pure = _pure()
    return [
        Box(
            name,
            _first_sentence(name),
            tuple(sorted(ours[name] - {name})),
            tuple(sorted(others[name])),
            any(f"{name}.".startswith(f"{one}.") for one in pure),
        )
        for name in plan.places
    ]


def _within(module: str, names: dict[str, set[str]]) -> str | None:
    parts = module.split(".")
    found = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((one for one in found if one in names), None)


def picture(plan: Plan) -> str:
    """Return the SVG."""
    found = boxes(plan)
    width = 2 * MARGIN + plan.columns * WIDTH + (plan.columns - 1) * GAP_X
    height = 2 * MARGIN + len(plan.rows) * HEIGHT + (len(plan.rows) - 1) * GAP_Y
    arrows = [_arrow(plan, one.name, other) for one in found for other in _drawn(one, found)]
    drawn = [_box(plan, one) for one in found]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#607080"/></marker></defs>'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, marker, ground, *arrows, *drawn, "</svg>", ""])


def table(plan: Plan) -> str:
    """Return the table of the boxes."""
    rows = [
        f"| `{one.name}` | {one.says} | {_listed(one.imports)} | {_listed(one.stands_on)} |"
        for one in boxes(plan)
    ]
    head = ["| name | what it is | imports | and of others |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def renewed(page: str) -> str:
    """Return the page with the tables of now.

    Raises:
        ValueError: It has no place for a table.
    """
    for plan in plans():
        begin, end = f"<!-- {plan.name}:begin -->", f"<!-- {plan.name}:end -->"
        before, found, rest = page.partition(begin)
        _, also_found, after = rest.partition(end)
        if not (found and also_found):
            raise ValueError(f"docs/architecture.md has no {begin} … {end}")
        page = f"{before}{begin}\n{table(plan)}\n{end}{after}"
    return page


def _pure() -> list[str]:
    (core,) = (one for one in CONTRACTS if "kopf" in one.get("forbidden_modules", ()))
    named: list[str] = core["source_modules"]
    return named


def _first_sentence(name: str) -> str:
    return (importlib.import_module(name).__doc__ or "").split("\n\n")[0].replace("\n", " ").strip()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _drawn(box: Box, found: list[Box]) -> list[str]:
    """Return what a box imports that none of the boxes it imports imports too, by others or not."""
    imports = {one.name: one.imports for one in found}

    @functools.cache
    def below(name: str) -> frozenset[str]:
        return frozenset({name}).union(*map(below, imports[name]))

    return [one for one in box.imports if not any(one in below(o) for o in box.imports if o != one)]


def _corner(plan: Plan, name: str) -> tuple[int, int]:
    column, row = plan.places[name]
    return MARGIN + int(column * (WIDTH + GAP_X)), MARGIN + row * (HEIGHT + GAP_Y)


def _arrow(plan: Plan, name: str, other: str) -> str:
    (column, row), (far_column, far_row) = plan.places[name], plan.places[other]
    (x, y), (far_x, far_y) = _corner(plan, name), _corner(plan, other)
    between = any(c == column and row < r < far_row for c, r in plan.places.values())
    if column == far_column and between:
        way = f"M{x} {y + 70} C{x - 34} {y + 70} {x - 34} {far_y + 40} {far_x} {far_y + 40}"
    else:
        # Arrows to the sides leave and arrive off the middle, so that they do not meet.
        shift = 50 * ((far_column > column) - (far_column < column))
        x, far_x = x + WIDTH // 2 + shift, far_x + WIDTH // 2 - shift
        way = f"M{x} {y + HEIGHT} L{far_x} {far_y}"
    return (
        f'<path d="{way}" fill="none" stroke="#607080" stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _box(plan: Plan, box: Box) -> str:
    x, y = _corner(plan, box.name)
    colour = "#eef6ee" if box.pure else "#f4f1ea"
    lines = wrap(box.says, LETTERS)
    texts = [
        f'<text x="{x + 10}" y="{y + 38 + LINE * number}" fill="#303840">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    size = f'x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
    drawn = f'<rect {size} fill="{colour}" stroke="#607080"/>'
    title = f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{escape(box.name)}</text>'
    return "\n".join([drawn, title, *texts])


def main() -> None:
    """Write all files."""
    PICTURES.mkdir(exist_ok=True)
    for plan in plans():
        (PICTURES / f"{plan.name}.svg").write_text(picture(plan))
    PAGE.write_text(renewed(PAGE.read_text()))


if __name__ == "__main__":
    main()
