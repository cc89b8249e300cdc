"""The order in which pods of `make bench-scale` come and go, and what its table says."""

from collections import Counter
from itertools import pairwise

from tests.bench.scale.churn import LIFETIME, plan
from tests.bench.scale.record import NONE_YET, ROWS, Record, section

RATE, SECONDS = 4, 15


def test_pods_are_created_finished_and_deleted_in_order() -> None:
    steps = [*plan("churn", RATE, SECONDS, lambda: False)]
    assert all(before <= after for (before, _), (after, _) in pairwise(steps))
    created = {r.body["metadata"]["name"]: due for due, r in steps if r.method == "POST"}
    finished = {r.path.split("/")[-2]: due for due, r in steps if r.method == "PATCH"}
    deleted = [r.path.rpartition("%3D")[2] for _, r in steps if r.method == "DELETE"]
    assert len(created) == RATE * SECONDS
    assert {name: due + LIFETIME for name, due in created.items()} == finished
    assert deleted == [str(batch) for batch in range(SECONDS)]


def test_no_pod_is_created_when_the_time_is_over_and_those_that_exist_are_still_deleted() -> None:
    over = iter([False] * 2 + [True] * SECONDS)
    sent = Counter(r.method for _, r in plan("churn", RATE, SECONDS, lambda: next(over)))
    assert sent == {"POST": 2 * RATE, "PATCH": 2 * RATE, "DELETE": 2}


def test_the_section_extrapolates_memory_and_names_the_limit() -> None:
    values = dict.fromkeys((name for name, _, _ in ROWS), 1.0) | {
        "with_claims": 10_000.0,
        "empty_rss_mib": 80.0,
        "full_rss_mib": 130.0,
        "reached_per_s": 200.0,
        "operator_cores": 0.2,
        "apiserver_cores": 1.0,
        "etcd_cores": 0.1,
    }
    text = section(Record(kubernetes="v1.36.3", scale=1.0, values=values))
    assert "5 MiB per 1,000 pods with claims, so that 100,000 such pods need 580 MiB" in text
    assert "the operator 1 ms, the API server 5 ms, etcd 0.50 ms" in text
    assert "Limit: the API server takes the most CPU per claim" in text
    assert "1,000 claims per second fill one core of the operator, 200 one core of the API" in text


def test_without_a_record_the_section_names_the_command() -> None:
    assert section(None) == NONE_YET
