"""Every case of the stock controller's own table of single syncs is tested here, or explained.

Names are those of TestSyncHandler in kubernetes/pkg/controller/resourceclaim, v1.36 and v1.37.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.dragoman.claims import (
    test_creation,
    test_deallocation,
    test_documents,
    test_groups,
    test_reservation,
    test_stale_views,
)

CASES = [
    *test_creation.CASES,
    *test_groups.CASES,
    *test_deallocation.CASES,
    *test_reservation.CASES,
]

ELSEWHERE = {
    "flapping-resourceclaim-statuses": (
        test_creation.test_publication_of_a_second_entry_keeps_the_first
    ),
    "find-created-claim-in-cache": test_stale_views.test_an_own_claim_is_known_before_the_watch,
    "find-created-claim-in-cache-podgroup": (
        test_stale_views.test_an_own_claim_is_known_before_the_watch
    ),
    "create-conflict": test_stale_views.test_a_name_that_was_taken_unseen_is_looked_at,
    "create-conflict-podgroup": test_stale_views.test_a_name_that_was_taken_unseen_is_looked_at,
    "create-conflict-admin-access": test_stale_views.test_a_name_that_was_taken_unseen_is_looked_at,
    # Since v1.37: the claim that a status names is looked up before another one is created.
    "nop-claim-in-mutation-cache-only": (
        test_stale_views.test_an_own_claim_is_known_before_the_watch
    ),
    "nop-claim-in-mutation-cache-only-for-podgroup": (
        test_stale_views.test_an_own_claim_is_known_before_the_watch
    ),
    "nop-claim-in-apiserver-only": (
        test_stale_views.test_a_published_claim_that_is_not_known_yet_is_looked_up_live
    ),
    "nop-claim-in-apiserver-only-for-podgroup": (
        test_stale_views.test_a_published_claim_that_is_not_known_yet_is_looked_up_live
    ),
    "recreate-wrong-owner": test_creation.test_a_foreign_claim_stays_as_it_was,
    "stay-reserved-not-seen": test_stale_views.test_a_consumer_that_is_not_known_is_looked_up_live,
    "TestCreateClaimDoesNotMutateTemplate": (
        test_documents.test_a_template_serves_two_pods_and_stays_as_it_was
    ),
}

SKIPPED = "skip create ResourceClaim for Pod with PodGroup claim"
GATE = "a feature gate inside the stock controller; the API server's answer decides here"
NOT_APPLICABLE = {
    "create with admin and feature gate off": GATE,
    f"{SKIPPED} when GenericWorkload feature is disabled": GATE,
    f"{SKIPPED} when DRAWorkloadResourceClaims feature is disabled": GATE,
    "skip-add-reserved-podgroup-genericworkload-disabled": GATE,
}

UPSTREAM = {
    "create-conflict-admin-access",
    "nop-claim-in-mutation-cache-only",
    "nop-claim-in-mutation-cache-only-for-podgroup",
    "nop-claim-in-apiserver-only",
    "nop-claim-in-apiserver-only-for-podgroup",
    "recreate-wrong-owner",
    "recreate-wrong-owner-podgroup",
    "create",
    "create with admin and feature gate off",
    "create with admin and feature gate on",
    "create for Pod in PodGroup",
    "skip-create-for-pod-podgroup-does-not-exist",
    "create for PodGroup",
    "skip create for Pod with PodGroup before template exists",
    "skip create for Pod with PodGroup after template exists",
    "update Pod status with PodGroup claim",
    f"{SKIPPED} when GenericWorkload feature is disabled",
    f"{SKIPPED} when DRAWorkloadResourceClaims feature is disabled",
    test_groups.UNGROUPED,
    test_groups.WITHOUT_GATE,
    "nop",
    "nop for PodGroup",
    "recreate",
    "recreate for PodGroup",
    "missing-template",
    "missing-template-podgroup",
    "find-existing-claim-by-label",
    "find-existing-claim-by-label-podgroup",
    "find-created-claim-in-cache",
    "find-created-claim-in-cache-podgroup",
    "no-such-pod",
    "no-such-podgroup",
    "pod-deleted",
    "podgroup-deleted",
    "no-volumes",
    "create-with-other-claim",
    "create-with-other-claim-podgroup",
    "wrong-claim-owner",
    "wrong-claim-owner-podgroup",
    "create-conflict",
    "create-conflict-podgroup",
    "stay-reserved-seen",
    "stay-reserved-not-seen",
    "clear-reserved-structured",
    "clear-reserved-podgroup",
    "dont-clear-reserved-podgroup-feature-disabled",
    "dont-clear-reserved-structured",
    "clear-reserved-structured-deleted",
    "structured-deleted",
    "clear-reserved-when-done",
    "remove-reserved",
    "delete-claim-when-done",
    "add-reserved",
    "add-reserved-podgroup",
    "add-reserved-podgroup-feature-disabled",
    "skip-add-reserved-podgroup-genericworkload-disabled",
    "skip-add-reserved-podgroup-workloadresourceclaims-disabled",
    "clean up pod reservation with non-pod reservation present",
    "flapping-resourceclaim-statuses",
    "TestCreateClaimDoesNotMutateTemplate",
}

SINCE_1_37 = {
    "create-adminaccess-feature-disabled": "create with admin and feature gate off",
    "create-adminaccess-feature-enabled": "create with admin and feature gate on",
    "create-for-grouped-pod": "create for Pod in PodGroup",
    "create-for-grouped-pod-with-claim-workloadresourceclaims-disabled": test_groups.UNGROUPED,
    "create-for-podgroup": "create for PodGroup",
    "nop-podgroup": "nop for PodGroup",
    "recreate-for-podgroup": "recreate for PodGroup",
    "remove-pod-reservation-with-non-pod-reservation-present": (
        "clean up pod reservation with non-pod reservation present"
    ),
    "skip-create-for-pod-with-podgroup-claim-genericworkload-disabled": (
        f"{SKIPPED} when GenericWorkload feature is disabled"
    ),
    "skip-create-for-pod-with-podgroup-claim-workloadresourceclaims-disabled": (
        f"{SKIPPED} when DRAWorkloadResourceClaims feature is disabled"
    ),
    "skip-create-podgroup-claim-for-pod": "skip create for Pod with PodGroup after template exists",
    "update-pod-status-with-podgroup-claim": "update Pod status with PodGroup claim",
}
"""Names of v1.37, and by what name their situation stands above."""

TABLE = re.compile(
    r"^func testSyncHandler\(|^func TestSyncHandler\(t \*testing\.T\) \{$", re.MULTILINE
)
ROW = re.compile(r'^\t\t\tname: +"([^"]+)",$', re.MULTILINE)


@pytest.mark.parametrize("version", ["v1.36.3", "v1.37.2"])
def test_every_row_of_the_published_table_is_listed(version: str) -> None:
    source = sources() / f"kubernetes@{version}/pkg/controller/resourceclaim/controller_test.go"
    if not source.exists():
        pytest.skip(f"Go's module cache has no k8s.io/kubernetes {version}")
    body = TABLE.split(source.read_text())[-1].partition("\nfunc ")[0]
    rows = ROW.findall(body)
    assert len(rows) > 40
    assert [name for name in rows if SINCE_1_37.get(name, name) not in UPSTREAM] == []


def test_names_of_two_versions_stand_for_listed_situations() -> None:
    assert set(SINCE_1_37.values()) <= UPSTREAM


def sources() -> Path:
    """Return the folder of k8s.io modules in Go's module cache."""
    cache = os.environ.get("GOMODCACHE")
    gopath = os.environ.get("GOPATH") or Path.home() / "go"
    return (Path(cache) if cache else Path(gopath) / "pkg/mod") / "k8s.io"


def test_every_upstream_case_is_tested_once_or_explained() -> None:
    named = [name for case in CASES for name in case.upstream]
    told = Counter([*named, *ELSEWHERE, *NOT_APPLICABLE])
    assert set(told) == UPSTREAM
    assert [name for name, count in told.items() if count > 1] == []


def test_titles_are_unique() -> None:
    titles = Counter(case.title for case in CASES)
    assert [title for title, count in titles.items() if count > 1] == []
