"""The measurements in docs/evidence.md, as docs/bench/allocation.json has them."""

from textwrap import fill

from tests.bench.allocation.bars import OWN, judge, table
from tests.bench.allocation.record import Record


def section(record: Record) -> str:
    """Write the part of the page about speed."""
    measured = [verdict for verdict in judge(record) if verdict.own is not None]
    missed = sum(verdict.met is False for verdict in measured)
    pods = record.value(f"alike/{OWN}", "pods") or 0
    text = (
        f"Measured {record.when} UTC by `make bench-allocator` at {record.commit} alongside "
        f"{record.library}, on {record.machine}, load average {record.load:g} before. Both decide "
        f"the same {pods:g} pods one after the other on the same nodes, in turn, and every result "
        "is compared: nodes that fit, steps, devices. Go makes a new allocator for each pod, as "
        "kube-scheduler does; its time includes that. dragoman's time includes making all results. "
        "What is measured alone is processor time. "
        f"Of {len(measured)} bars, {missed or 'none'} {'is' if missed == 1 else 'are'} missed."
    )
    return f"{fill(text, 100)}\n\n{table(record)}"
