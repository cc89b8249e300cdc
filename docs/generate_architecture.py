"""Draw docs/architecture.svg from the code's imports: `make pages`.

Also renews the table of packages in docs/architecture.md. Boxes are the packages, arrows are what
they import, sentences are their docstrings': nothing in the picture can be claimed without code.
"""

import importlib
import sys
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

import grimp

DOCS = Path(__file__).parent
PICTURE = DOCS / "architecture.svg"
PAGE = DOCS / "architecture.md"
BEGIN, END = "<!-- packages:begin -->", "<!-- packages:end -->"

ROOTS = ("dragoman", "dragoman_webhooks")
SHELLS = (
    "dragoman",
    "dragoman.__main__",
    "dragoman.logs",
    "dragoman.metrics",
    "dragoman.settings",
    "dragoman.surroundings",
)
"""Everything may import these: they are not drawn."""

CONTRACTS = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
ROWS = [
    layer.split(" | ")
    for one in CONTRACTS
    if one["type"] == "layers" and "containers" not in one
    for layer in one["layers"]
]
"""The layers of the packages, which `make lint` keeps."""

COLUMNS = max(map(len, ROWS))
PLACES = {
    name: ((COLUMNS - len(names)) / 2 + column, row)
    for row, names in enumerate(ROWS)
    for column, name in enumerate(names)
}
"""Column and row of each package; a package without a place cannot be drawn, and says so."""

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 250, 104, 70, 52, 40
LINE, LETTERS = 16, 36


@dataclass(frozen=True, slots=True)
class Package:
    """One box.

    Attributes:
        name: Such as `dragoman.claims`.
        says: First sentence of its docstring.
        imports: Packages of ours that it imports.
        stands_on: Packages of others that it imports, the standard library apart.
        pure: Whether a contract in pyproject.toml keeps effects out of it.
    """

    name: str
    says: str
    imports: tuple[str, ...]
    stands_on: tuple[str, ...]
    pure: bool


def packages() -> list[Package]:
    """Read the import graph.

    Raises:
        ValueError: A package has no layer.
    """
    graph = grimp.build_graph(*ROOTS, include_external_packages=True)
    ours: dict[str, set[str]] = {name: set() for name in PLACES}
    others: dict[str, set[str]] = {name: set() for name in PLACES}
    for module in graph.modules:
        package = _package(module)
        if module.split(".")[0] not in ROOTS or package in SHELLS:
            continue
        if package not in PLACES:
            raise ValueError(f"give {package} a layer in pyproject.toml")
        for imported in map(_package, graph.find_modules_directly_imported_by(module)):
            (ours if imported.split(".")[0] in ROOTS else others)[package].add(imported)
    pure = _pure()
    return [
        Package(
            name,
            _first_sentence(name),
            tuple(sorted(ours[name] & set(PLACES) - {name})),
            tuple(sorted(others[name] - set(sys.stdlib_module_names))),
            name in pure,
        )
        for name in PLACES
    ]


def picture(found: list[Package]) -> str:
    """Return the SVG."""
    width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP_X
    height = 2 * MARGIN + len(ROWS) * HEIGHT + (len(ROWS) - 1) * GAP_Y
    arrows = [_arrow(one.name, other) for one in found for other in _drawn(one, found)]
    boxes = [_box(one) for one in found]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#607080"/></marker></defs>'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, marker, ground, *arrows, *boxes, "</svg>", ""])


def table(found: list[Package]) -> str:
    """Return the table of packages."""
    rows = [
        f"| `{one.name}` | {one.says} | {_listed(one.imports)} | {_listed(one.stands_on)} |"
        for one in found
    ]
    return "\n".join(
        ["| package | what it is | imports | and of others |", "|---|---|---|---|", *rows]
    )


def renewed(page: str, found: list[Package]) -> str:
    """Return the page with the table of now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


def _pure() -> set[str]:
    (core,) = (one for one in CONTRACTS if "kopf" in one.get("forbidden_modules", ()))
    return set(core["source_modules"])


def _package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "dragoman" else parts[0]


def _first_sentence(name: str) -> str:
    return (importlib.import_module(name).__doc__ or "").split("\n\n")[0].replace("\n", " ").strip()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _drawn(package: Package, found: list[Package]) -> list[str]:
    """Return what a package imports that no package it imports imports too, itself or by others."""
    imports = {one.name: one.imports for one in found}

    def below(name: str) -> set[str]:
        return {name}.union(*map(below, imports[name]))

    return [
        one
        for one in package.imports
        if not any(one in below(o) for o in package.imports if o != one)
    ]


def _corner(name: str) -> tuple[int, int]:
    column, row = PLACES[name]
    return MARGIN + int(column * (WIDTH + GAP_X)), MARGIN + row * (HEIGHT + GAP_Y)


def _arrow(name: str, other: str) -> str:
    (column, row), (far_column, far_row) = PLACES[name], PLACES[other]
    (x, y), (far_x, far_y) = _corner(name), _corner(other)
    if column == far_column and far_row - row > 1 and _between(column, row, far_row):
        way = f"M{x} {y + 70} C{x - 34} {y + 70} {x - 34} {far_y + 40} {far_x} {far_y + 40}"
    else:
        # Arrows to the sides leave and arrive off the middle, so that they do not meet.
        shift = 50 * ((far_column > column) - (far_column < column))
        x, far_x = x + WIDTH // 2 + shift, far_x + WIDTH // 2 - shift
        way = f"M{x} {y + HEIGHT} L{far_x} {far_y}"
    return (
        f'<path d="{way}" fill="none" stroke="#607080" stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _between(column: float, row: int, far_row: int) -> bool:
    return any(c == column and row < r < far_row for c, r in PLACES.values())


def _box(package: Package) -> str:
    x, y = _corner(package.name)
    colour = "#eef6ee" if package.pure else "#f4f1ea"
    lines = wrap(package.says, LETTERS)
    texts = [
        f'<text x="{x + 10}" y="{y + 38 + LINE * number}" fill="#303840">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    size = f'x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
    box = f'<rect {size} fill="{colour}" stroke="#607080"/>'
    title = f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{escape(package.name)}</text>'
    return "\n".join([box, title, *texts])


def main() -> None:
    """Write both files."""
    found = packages()
    PICTURE.write_text(picture(found))
    PAGE.write_text(renewed(PAGE.read_text(), found))


if __name__ == "__main__":
    main()
