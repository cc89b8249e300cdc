"""Why a pod waits, in one line of the page."""

import re
from collections.abc import Mapping
from typing import Any

from dragoman_base.words import listed
from dragoman_toolkit.dra.output import Report

_SUBJECT = re.compile(r"\APod \S+ (\w)")  # On the page the pod's name stands above the line
NAMED = 2
"""Nodes that the line names."""


def reason(found: Report) -> str:
    """Return the most useful part of an explanation: what is missing where least is."""
    document = found.document
    for name in ("errors", "obstacles"):
        if first := next(iter(document.get(name) or ()), None):
            return str(first.get("message") if isinstance(first, Mapping) else first)
    if fits := document.get("fits"):
        more = f" and {len(fits) - 1} more" if len(fits) > 1 else ""
        return f"fits now on {fits[0]}{more}"
    first = next((str(one) for one in found.blocks if isinstance(one, str) and one), "")
    first = _SUBJECT.sub(lambda subject: subject[1].upper(), first)
    if document.get("causes"):
        return first
    return _nearest(document.get("groups") or ()) or first


def _nearest(groups: Any) -> str:
    """Say what the nearest nodes lack, which are those of the first group."""
    if not groups:
        return ""
    return f"{listed(groups[0]['nodes'], NAMED)}: {groups[0]['why']}"
