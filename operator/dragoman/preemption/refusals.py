"""What kube-scheduler says of a pod: whether anything but its devices is in the way.

Plans simulate some of the scheduler's plugins. Where its own message names another one, no pod may
end: the waiting one would not be placed. Source: `FitError.Error` in
pkg/scheduler/framework/types.go.
"""

import re

from dragoman.preemption.trial import KEPT_AWAY

_COUNTED = re.compile(r"(\d+) (.+?)(?=, \d+ |\. |\.$|$)")
_NODES = re.compile(r"0/\d+ nodes are available: ")
_ALREADY = "preemption: "
_SIMULATED = (
    "cannot allocate all claims",
    "resourceclaim not available on the node",
    "node(s) were unschedulable",
    "node(s) had unknown conditions",
    "node(s) didn't match the requested node name",
    "node(s) had untolerated taint",
    "node(s) had taints that the pod didn't tolerate",
    "node(s) didn't match Pod's node affinity",
    "node(s) didn't match node selector",
    "Too many pods",
    "Insufficient ",
)
"""How the reasons begin of what plans compute themselves."""
_OF_CLAIMS = re.compile(r"\bclaims?\b|resourceclaim|device class|\brequest\b", re.IGNORECASE)
_TOGETHER = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[([^]]*)\]")
_PREFILTERS = frozenset({"NodeAffinity", "DynamicResources"})


def other_reason(message: str, kept_away: int = 0) -> str:
    """Return the first reason that is not among what plans compute; empty for none.

    Args:
        message: Of the condition PodScheduled; what is no refusal of nodes says nothing.
        kept_away: Nodes that the plan knows to be kept away by anti-affinity of other pods.
    """
    begun = _NODES.match(message)
    if begun is None:
        return ""
    text = message[begun.end() :].split(_ALREADY, 1)[0]
    counted = _COUNTED.findall(text) if text[:1].isdigit() else []
    if not counted:
        # A plugin refused the pod before it looked at nodes.
        return "" if _OF_CLAIMS.search(text) or not text.strip() else text.strip().rstrip(".")
    for count, reason in counted:
        if reason == KEPT_AWAY and int(count) <= kept_away:
            continue
        together = _TOGETHER.match(reason)
        if together is not None and set(together[1].split()) <= _PREFILTERS:
            continue
        if not reason.startswith(_SIMULATED):
            return str(reason)
    return ""
