"""What the codes in answers, Events, logs and metrics mean: `explain --reason`, offline."""

import re
from collections.abc import Mapping

from dragoman.allocation.codes import WORDS
from dragoman.claims.reasons import ClaimReason
from dragoman.diagnosis.obstacles import ObstacleCode
from dragoman_base.words.spelling import closest
from dragoman_toolkit.dra.reports import Unusable
from dragoman_toolkit.migration.losses import Code

_OBSTACLES: Mapping[ObstacleCode, str] = {
    ObstacleCode.SCHEDULING_GATED: "a scheduling gate keeps every scheduler from the pod",
    ObstacleCode.CLAIM_NOT_CREATED: "no claim was made yet from a template that the pod names",
    ObstacleCode.CLAIM_NOT_FOUND: "a claim that the pod names does not exist",
    ObstacleCode.CLAIM_DELETING: "a claim of the pod is being deleted",
    ObstacleCode.TEMPLATE_NOT_FOUND: "a template that the pod names does not exist",
    ObstacleCode.NOT_OWNER: "a claim of the pod was made for another pod",
    ObstacleCode.CLASS_NOT_FOUND: "a DeviceClass that a request names does not exist",
    ObstacleCode.CLAIM_IN_USE: "a claim of the pod is reserved for something else",
    ObstacleCode.CLAIM_FULL: "a claim of the pod has as many consumers as the API allows",
    ObstacleCode.NODE_CHOSEN: "spec.nodeName places the pod, so that no scheduler looks at it",
    ObstacleCode.NOT_RESERVED: "the pod has a node, but a claim of it is not reserved for it",
    ObstacleCode.RESOURCE_NOT_SERVED: "no DeviceClass and no node serves an extended resource",
    ObstacleCode.NO_SCHEDULER: "no scheduler of the name in the pod has looked at it",
    ObstacleCode.QUOTA_EXCEEDED: "a ResourceQuota keeps a claim of the pod from being created",
}


def meanings() -> dict[str, str]:
    """Return a sentence for each code; `<name>` stands for what the answer has."""
    obstacles = {str(code): f"The scheduler stops: {text}." for code, text in _OBSTACLES.items()}
    devices = {str(code): _sentence(words.text) for code, words in WORDS.items()}
    claims = {str(one): f"In the operator: {one.meaning}" for one in ClaimReason}
    migration = {
        str(one): f"Of a migration to DRA: {one.meaning} Remedy: {one.remedy}." for one in Code
    }
    every = (obstacles, devices, claims, migration)
    return {
        code: "\n".join(there[code] for there in every if code in there)
        for code in sorted({code for there in every for code in there})
    }


def meaning(code: str) -> str:
    """Return what a code means, however its letters are written; raise Unusable for no code."""
    known = {name.lower(): name for name in meanings()}
    name = known.get(code.lower())
    if name is None:
        near = closest(code, known.values())
        hint = f"did you mean {near}?" if near else f"there are {', '.join(known.values())}"
        raise Unusable(f"--reason: no reason {code}; {hint}")
    return f"{name}\n{meanings()[name]}"


def _sentence(text: str) -> str:
    said = re.sub(r"\{(\w+)\}", r"<\1>", text).rstrip(": ")
    return f"Of a device, a request or a node: {said}."
