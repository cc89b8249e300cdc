"""Manifests that users name with -f."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dragoman_base import versions
from dragoman_toolkit import manifests
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.linting.manifests.documents import UnreadableError, read
from dragoman_toolkit.linting.manifests.manifestobjects import objects
from dragoman_toolkit.linting.validation.check import invalid
from dragoman_toolkit.unusable import UnusableInput

if TYPE_CHECKING:
    from dragoman_toolkit.linting.manifests.documents import ManifestDocument

    Named = tuple[str, ManifestDocument]
    """The name of a file and one of its documents."""


def trees(filenames: Iterable[str]) -> Iterator[Any]:
    """Yield the JSON trees of all documents of files; see `documents`."""
    for _, document in documents(filenames):
        yield document.tree


def documents(filenames: Iterable[str]) -> Iterator[Named]:
    """Yield all documents of files, folders and `-` for standard input.

    Raises:
        Unusable: A file cannot be read, or is neither YAML nor JSON.
    """
    try:
        for one in manifests.texts(filenames):
            if isinstance(one, UnreadableFile):
                raise Unusable(str(one))
            name, text = one
            try:
                for document in read(text):
                    yield name, document
            except UnreadableError as error:
                raise Unusable(f"{name}:{error.line}: {error}") from None
    except UnusableInput as error:
        raise Unusable(str(error)) from None


def require_valid(found: Iterable[Named], kubernetes: str) -> None:
    """Raise Unusable for a pod or an object of DRA with a value that the API server would refuse.

    Args:
        found: Documents of files; other objects matter for nothing here.
        kubernetes: The server's version, such as `v1.36.3`; the newest known for any other text.
    """
    try:
        version = versions.parse(kubernetes)
    except ValueError:
        version = versions.NEWEST
    for name, document in found:
        for one in objects(name, document):
            if one.in_group or one.api_version in ("v1", "apps/v1", "batch/v1"):
                for problem in invalid(one, version):
                    text = f"{name}: {one.title}: {problem.message}"
                    raise Unusable(f"{text}; the API server would reject it, see `dragoman check`")
