"""What it all came to: claims, devices, and every write, out of the API server's audit log."""

from collections import Counter
from collections.abc import Mapping

from tests.demo.picture import Picture
from tests.demo.stage import DeviationError
from tests.demo.story import DRIVERS
from tests.demo.terminal import Line, Span, Tone
from tests.support.controlplane.audit import Audit

ACCOUNT = "system:serviceaccount:dragoman:dragoman"
CLAIMS_MADE, PODS_WITH_TEMPLATES, CLAIMS_SHARED, SHARERS = 10, 9, 1, 3
MEANINGS = {
    "create resourceclaims": "one for each claim",
    "patch pods/status": "one for each pod that uses a template",
    "patch resourceclaims/status": "users leave, devices come free",
    "delete resourceclaims": "claims of pods that are done",
    "patch resourceclaims": "the scheduler's finalizer goes",
    "create events": "a template that was missing, another that is wrong",
    "patch driverconfigschemas": "the catalogue's, one for each driver",
    "patch driverconfigschemas/status": "what compiled, and what the audit found",
    "create resourceclaimtemplates": "copies of the cluster's template",
    "delete resourceclaimtemplates": "the copy of a namespace that lost its label",
    "patch clusterresourceclaimtemplates/status": "which namespaces have a copy",
}
EXACTLY = {
    "create resourceclaims": CLAIMS_MADE,
    "patch pods/status": PODS_WITH_TEMPLATES,
    "delete resourceclaims": CLAIMS_MADE,
    "create events": 2,
    "patch driverconfigschemas": len(DRIVERS),
    "create resourceclaimtemplates": 2,
    "delete resourceclaimtemplates": 1,
}
AT_MOST = {
    "patch resourceclaims/status": CLAIMS_MADE + SHARERS,
    "patch resourceclaims": CLAIMS_MADE + CLAIMS_SHARED,
    "patch driverconfigschemas/status": 3 * len(DRIVERS),
    "patch clusterresourceclaimtemplates/status": 6,
}


def summarise(audit: Audit, picture: Picture, seconds: float, starting: float) -> list[Line]:
    """Wait until the operator is quiet, judge its writes and return the summary.

    Raises:
        DeviationError: It wrote more, less or something else than the story needs.
    """
    audit.settled(ACCOUNT)
    writes = audit.counts(ACCOUNT)
    judge(writes)
    refused = len(audit.writes(ACCOUNT, refused=True))
    pods = len({row.pod for row in picture.rows})
    free = len(picture.devices) - picture.held
    return [
        (Span("Summary", Tone.STRONG),),
        figure("pods", str(pods), "all finished"),
        figure("claims made", str(writes["create resourceclaims"]), "from templates, each once"),
        figure("claims left", str(len(picture.claims)), "made by a person, so they stay"),
        figure("devices free", str(free), f"of {len(picture.devices)}"),
        figure("writes", str(writes.total()), f"by dragoman, {refused} more refused"),
        *(figure(f"  {what}", str(writes[what]), why) for what, why in MEANINGS.items()),
        figure("seconds", f"{seconds:.1f}", f"of which {starting:.1f} to start everything"),
    ]


def judge(writes: Mapping[str, int]) -> None:
    """Compare the writes with what the story needs.

    Raises:
        DeviationError: They differ; the message lists each difference.
    """
    counted = Counter(writes)
    wrong = [
        f"{what}: {counted[what]} instead of {number}"
        for what, number in EXACTLY.items()
        if counted[what] != number
    ]
    wrong += [
        f"{what}: {counted[what]}, more than {number}"
        for what, number in AT_MOST.items()
        if counted[what] > number
    ]
    wrong += [f"{what}: not expected at all" for what in counted if what not in MEANINGS]
    if wrong:
        raise DeviationError(
            "the operator's writes are not what the story needs\n" + "\n".join(wrong)
        )


def figure(name: str, number: str, meaning: str) -> Line:
    """Return one line of the summary."""
    return (
        Span(f"   {name:36}"),
        Span(f"{number:>6}", Tone.STRONG),
        Span(f"   {meaning}", Tone.FAINT),
    )
