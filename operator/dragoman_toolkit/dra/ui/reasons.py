"""Why a pod waits, in one line of the page."""

from collections.abc import Mapping
from typing import Any

from dragoman_toolkit.dra.output import Report


def reason(found: Report) -> str:
    """Return the most useful part of an explanation: what is missing where least is."""
    document = found.document
    for name in ("errors", "obstacles"):
        if first := next(iter(document.get(name) or ()), None):
            return str(first.get("message") if isinstance(first, Mapping) else first)
    if fits := document.get("fits"):
        more = f" and {len(fits) - 1} more" if len(fits) > 1 else ""
        return f"fits now on {fits[0]}{more}"
    groups = document.get("groups") or ()
    first = next((str(one) for one in found.blocks if isinstance(one, str) and one), "")
    return _nearest(document, groups) or _commonest(groups) or first


def _nearest(document: Mapping[str, Any], groups: Any) -> str:
    """Say which node lacks the fewest devices, of those that have some of them free."""
    partly = {node for one in groups if "NoCombination" in one["codes"] for node in one["nodes"]}
    short = [
        (node["short"], node["name"])
        for node in document.get("nodes") or ()
        if node["name"] in partly and node.get("short")
    ]
    if not short:
        return ""
    count, name = min(short)
    return f"{'one device' if count == 1 else f'{count} devices'} short on {name}"


def _commonest(groups: Any) -> str:
    if not groups:
        return ""
    largest = max(groups, key=lambda one: len(one["nodes"]))
    nodes = largest["nodes"]
    where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
    return f"{where}: {largest['why']}"
