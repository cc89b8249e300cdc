"""Random clusters, decided by kube-scheduler's own allocator and by dragoman's."""

import pytest

from tests.conformance.fuzz_allocator import Session, summary
from tests.conformance.oracle import OracleUnavailableError


@pytest.mark.parametrize("kubernetes", ["1.36", "1.37", "1.38"])
def test_random_clusters_are_served_as_the_scheduler_serves_them(kubernetes: str) -> None:
    # `make fuzz-allocator` takes other seeds.
    seed = 0
    print(f"Kubernetes {kubernetes}, seed {seed}")
    try:
        session = Session(kubernetes, seed, shown=1)
    except OracleUnavailableError as reason:
        pytest.skip(str(reason))
    session.run(250)
    session.stop()
    summary(session)
    assert session.counts["differences"] == 0
    assert session.counts["results"] > 25
