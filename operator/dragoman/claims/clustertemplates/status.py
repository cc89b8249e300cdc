"""The status of a ClusterResourceClaimTemplate; pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.claims.clustertemplates.copies import CopyState
from dragoman.model.clustertemplate import ClusterTemplate
from dragoman.model.conditions import changed_at

LISTED = 10
"""Namespaces that a status names."""
MESSAGE = 2048
"""Characters of a message."""

DISTRIBUTED = "Distributed"
"""Reason of Ready=True: every selected namespace has the current copy."""
DISTRIBUTING = "Distributing"
"""Reason of Ready=False: copies are being created or replaced."""
REFUSED = "CopyRefused"
"""Reason of Ready=False: the API server refuses the copy in a namespace."""
CONFLICT = "TemplateConflict"
"""Reason of Ready=False: a namespace has a template of the name that is not a copy."""


def status(
    template: ClusterTemplate,
    states: Mapping[str, CopyState],
    refusals: Mapping[str, str],
    now: str,
) -> dict[str, Any]:
    """Return the status of an object; unchanged conditions keep their transition time.

    Args:
        template: The object, with its stored status.
        states: The state of each namespace's copy, by namespace.
        refusals: What the API server answered to creations, by namespace.
        now: The time as RFC 3339.
    """
    current = sum(state is CopyState.CURRENT for state in states.values())
    open_states = {
        CopyState.MISSING,
        CopyState.UNVERIFIED,
        CopyState.OUTDATED,
        CopyState.LEAVING,
    }
    outdated = sorted(name for name, state in states.items() if state in open_states)
    conflicts = sorted(name for name, state in states.items() if state is CopyState.CONFLICT)
    refused = {name: refusals[name] for name in outdated if name in refusals}
    reason, message = _reason(refused, conflicts, len(outdated), current)
    condition = {
        "type": "Ready",
        "status": "True" if reason == DISTRIBUTED else "False",
        "reason": reason,
        "message": message[:MESSAGE],
        "observedGeneration": template.generation,
    }
    changed = changed_at(template.status, "Ready", str(condition["status"]), now)
    return {
        "observedGeneration": template.generation,
        "namespaces": current,
        "outdated": len(outdated),
        "conflicts": conflicts[:LISTED],
        "conditions": [{**condition, "lastTransitionTime": changed}],
    }


def _reason(
    refused: Mapping[str, str], conflicts: Sequence[str], outdated: int, current: int
) -> tuple[str, str]:
    """Return reason and message of the condition Ready: what an admin must correct comes first."""
    if refused:
        namespace, answer = next(iter(refused.items()))
        others = f"; and {len(refused) - 1} more namespaces" if len(refused) > 1 else ""
        return REFUSED, f"namespace {namespace}: {answer}{others}"
    if conflicts:
        return CONFLICT, (
            f"{counted(len(conflicts))} a template of this name that is not a copy: "
            f"{', '.join(conflicts[:LISTED])}{', …' if conflicts[LISTED:] else ''}; "
            "spec.conflict=Replace would replace it"
        )
    if outdated:
        return DISTRIBUTING, f"{counted(outdated)} no current copy yet"
    return DISTRIBUTED, f"{counted(current)} the current copy"


def counted(namespaces: int) -> str:
    """Return the subject of a sentence about so many namespaces."""
    return "1 namespace has" if namespaces == 1 else f"{namespaces} namespaces have"
