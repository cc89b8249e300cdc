"""Manifests that users name with -f."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dragoman.cli.dra.output import Unusable


def trees(filenames: Iterable[str]) -> Iterator[Any]:
    """Yield the JSON trees of all documents of files, folders and `-` for standard input.

    Raises:
        Unusable: A file cannot be read, or is neither YAML nor JSON.
    """
    from dragoman.cli import manifests  # noqa: PLC0415 — heavy, not for --help
    from dragoman.cli.unusable import Unusable as UnusableName  # noqa: PLC0415 — as above
    from dragoman.linting.findings.finding import Failure  # noqa: PLC0415 — as above
    from dragoman.linting.manifests.documents import UnreadableError, read  # noqa: PLC0415 — as above

    try:
        for one in manifests.texts(filenames):
            if isinstance(one, Failure):
                raise Unusable(str(one))
            name, text = one
            try:
                for document in read(text):
                    yield document.tree
            except UnreadableError as error:
                raise Unusable(f"{name}:{error.line}: {error}") from None
    except UnusableName as error:
        raise Unusable(str(error)) from None
