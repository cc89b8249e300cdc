"""A pod with thousands of claims: the API server accepts it, and others do not wait for it."""

import time

import pytest

from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.hostile import scaled

pytestmark = pytest.mark.hostile("fairness")


def test_a_pod_with_thousands_of_entries_does_not_delay_another(setup: Setup) -> None:
    entries = scaled(3000, least=600)
    crowd = setup.plane.create_namespace("crowd")
    setup.apply(setup.template())
    template = objects.template("many", crowd, "any")
    setup.api.create(setup.plane.served(template))
    pod = objects.pod("many", crowd, templates={f"e{n}": "many" for n in range(entries)})
    setup.api.create(setup.plane.served(pod))
    path = setup.api.resource("resourceclaims").path(crowd)

    def made() -> int:
        page = setup.api.request("GET", path, limit=1)
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)

    wait_for(made, message="the first claims", every=0.01)
    waited = []
    for number in range(3):
        began = time.monotonic()
        setup.api.create(setup.pod(f"honest-{number}"))
        setup.published(f"honest-{number}")
        waited.append(time.monotonic() - began)
        if number == 0:
            assert made() < entries, "the pod waited for all claims, or there were too few"
    print(f"\n{entries} entries: other pods wait at most {max(waited):.2f} s")
    wait_for(lambda: made() == entries, 300, "all claims", every=0.5)

    def published() -> bool:
        status = setup.api.get("pods", "many", crowd)["status"]
        return len(status.get("resourceClaimStatuses") or ()) == entries

    wait_for(published, 120, "the status", every=0.5)
    setup.plane.clear_namespace(crowd)
