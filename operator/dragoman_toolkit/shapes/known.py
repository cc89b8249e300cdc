"""Which shapes there are: own ones of a folder first, then the recorded ones that come with us."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from dragoman_base.files import UnreadableError, documents, reason
from dragoman_base.words.nearnames import did_you_mean
from dragoman_toolkit.shapes.shape import Shape, ShapeError, parse

SHIPPED = Path(__file__).parent / "machines"
VARIABLE = "DRAGOMAN_SHAPES"
"""Names a folder with own shapes."""
MAX_FILES = 1000
"""Files of a folder."""


def folders(option: Path | None = None) -> list[Path]:
    """Return where shapes are looked for, the first that has a name wins.

    Args:
        option: The folder of --shapes.

    Raises:
        ShapeError: A folder that was named is not there.
    """
    own = option or (Path(found) if (found := os.environ.get(VARIABLE)) else None)
    if own is not None and not own.is_dir():
        raise ShapeError(f"{own}: no such folder of shapes")
    return [*([own] if own else []), SHIPPED]


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        try:
            every = sorted(place.iterdir())
        except OSError as error:
            raise ShapeError(f"{place}: {reason(error)}") from None
        found = (one for one in every if one.suffix in (".yaml", ".yml", ".json"))
        yield from islice(found, MAX_FILES)


def read(path: Path) -> Shape:
    """Read the shape of a file; raise ShapeError naming the line or the field."""
    try:
        return parse(documents.tree(path), path.name)
    except UnreadableError as error:
        raise ShapeError(f"{path.name}: {error}") from None
    except OSError as error:
        raise ShapeError(f"{path.name}: {reason(error)}") from None


def every(option: Path | None = None) -> list[Shape]:
    """Return all shapes, in the order of their names."""
    found: dict[str, Shape] = {}
    for path in _files(folders(option)):
        one = read(path)
        found.setdefault(one.name, one)
    return [found[name] for name in sorted(found)]


def named(name: str, option: Path | None = None) -> Shape:
    """Return the shape of a name, or of a machine type.

    Raises:
        ShapeError: There is none; the message names the closest ones.
    """
    for path in _files(folders(option)):  # Most often a file has the name of its shape.
        if path.stem == name and (one := read(path)).name == name:
            return one
    shapes = every(option)
    for one in shapes:
        if name in (one.name, one.machine):
            return one
    names = {text for one in shapes for text in (one.name, one.machine)}
    raise ShapeError(
        f"no shape of {name} is recorded{did_you_mean(name, names)}. `kubectl dra shapes list` "
        f"shows all; `kubectl dra shapes record NODE` makes one from a node, --shapes DIR reads it"
    )
