"""Names of properties as CEL identifiers: the escapes of Kubernetes.

Source: apiserver pkg/cel/escaping.go.
"""

import re
from typing import Final

from dragoman.cel.syntax.tokens import RESERVED

_ACCESSIBLE = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*", re.ASCII)
_ESCAPED = re.compile(r"__|[.\-/]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """Return the identifier of a property, None if CEL cannot name it."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ACCESSIBLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)
