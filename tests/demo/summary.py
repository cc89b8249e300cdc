"""What it all came to: claims, devices, writes, out of the API server's audit log."""

from collections import Counter
from collections.abc import Mapping

from rich.text import Text

from tests.demo.overview import Overview
from tests.demo.screen import Style, styled
from tests.demo.session import DeviationError
from tests.demo.steps import DRIVERS
from tests.support.controlplane.audit import Audit

ACCOUNT = "system:serviceaccount:dragoman:dragoman"
CLAIMS_MADE, PODS_WITH_TEMPLATES, CLAIMS_SHARED, SHARERS = 10, 9, 1, 3
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


def summarise(audit: Audit, overview: Overview, seconds: float, starting: float) -> list[Text]:
    """Wait until the operator is quiet, judge its writes and return the summary.

    Raises:
        DeviationError: It wrote more, less or something else than the steps need.
    """
    audit.settled(ACCOUNT)
    writes = audit.counts(ACCOUNT)
    judge(writes)
    refused = len(audit.writes(ACCOUNT, refused=True))
    pods = len({row.pod for row in overview.rows})
    free = len(overview.devices) - overview.held
    return [
        styled(("Summary", Style.STRONG)),
        figure("pods", str(pods), "all finished"),
        figure("claims made", str(writes["create resourceclaims"]), "from templates, each once"),
        figure("claims left", str(len(overview.claims)), "created by a user: they stay"),
        figure("devices free", str(free), f"of {len(overview.devices)}"),
        figure(
            "writes", str(writes.total()), f"by dragoman, {refused} more rejected: none in vain"
        ),
        figure("seconds", f"{seconds:.1f}", f"of which {starting:.1f} to start everything"),
    ]


def judge(writes: Mapping[str, int]) -> None:
    """Compare the writes with what the steps need.

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
    wrong += [f"{what}: not expected at all" for what in counted if what not in EXACTLY | AT_MOST]
    if wrong:
        raise DeviationError(
            "the operator's writes are not what the steps need\n" + "\n".join(wrong)
        )


def figure(name: str, number: str, meaning: str) -> Text:
    """Return one line of the summary."""
    strong, faint = Style.STRONG, Style.FAINT
    return styled(f"   {name:36}", (f"{number:>6}", strong), (f"   {meaning}", faint))
