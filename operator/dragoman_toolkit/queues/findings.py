"""What `doctor` says about queues: what they never admit, and what they do not count."""

from collections.abc import Iterator

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman_toolkit.queues.amounts import quantity_text
from dragoman_toolkit.queues.facts import Queues
from dragoman_toolkit.queues.rows import rows
from dragoman_toolkit.queues.wording import WHY


def queue_findings(facts: DoctorFacts) -> Iterator[Finding]:
    """Yield what is wrong with queues; nothing in a cluster without a queue manager."""
    queues = Queues(facts.snapshot, facts.inventory.world)
    refused: set[str] = set()
    for row in rows(queues, facts.inventory):
        see = f"kubectl dra top queues --queue {row.manager}/{row.queue}"
        for workload, code in sorted(row.refused.items()):
            if workload not in refused:
                refused.add(workload)
                namespace, _, name = workload.partition("/")
                subject = FindingSubject(workload, "", name, namespace)
                what = f"queue {row.queue} never admits it: {WHY[code]}"
                yield Finding(Id.QUEUE_REFUSES, subject, what, see)
        if amount := row.not_counted or abs(row.unexplained):
            why = "held and not counted" if row.not_counted else "without a known reason"
            subject = FindingSubject(f"{row.manager}/{row.queue}")
            what = f"charged and held differ: {quantity_text(amount)} of {row.resource} {why}"
            yield Finding(Id.QUEUE_DIFFERS, subject, what, see)
