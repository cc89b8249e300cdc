"""Extraction of archives that are trusted: verified packages, and what was made here."""

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Python asks for a filter since 3.12 and knows none before 3.11.4.
_TRUSTING: dict[str, Any] = (
    {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
)


def extract(
    files: tarfile.TarFile, root: Path, members: Iterable[tarfile.TarInfo] | None = None
) -> None:
    """Extract an archive, or some of its members, into `root`; modes and links are kept."""
    files.extractall(root, members=members, **_TRUSTING)
