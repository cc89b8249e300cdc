"""The reviews that all webhooks get, and what is right: what the driver does at prepare time.

Most are the rows of the catalog's tables of verdicts (tests/unit/configs/data). The
others are about what stands around the parameters.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tests.conformance.peer.competitors import EXAMPLE, NVIDIA
from tests.support.worlds import configtables as tables
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds import reviews

Truth = Literal["accepts", "rejects", "ignores"]
TABLES = {"gpu.example.com": EXAMPLE, "gpu.nvidia.com": NVIDIA, "compute-domain.nvidia.com": NVIDIA}
"""Drivers whose vendors publish a webhook."""

NEWER = frozenset(
    {
        "MPS for several users",
        "a path out of the folder",
        "the folder above",
        "the same folder",
        "64 characters",
        "a trailing line break",
        "the API group of the newer domain, which this release does not know",
    }
)
"""Rows about what a driver learned after the release whose webhook is built here."""

EXAMPLE_KIND = {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"}
NVIDIA_KIND = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
GOOD = {"sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}}
BAD = {"sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Longer"}}}


@dataclass(frozen=True, slots=True)
class Case:
    """One review.

    Attributes:
        vendor: Key of the vendor whose webhook gets it.
        driver: The driver that it is about.
        title: What it is about.
        body: The AdmissionReview, as JSON.
        truth: What the driver does with it later; `ignores` where it works without effect.
    """

    vendor: str
    driver: str
    title: str
    body: str
    truth: Truth


def all_cases() -> tuple[Case, ...]:
    """List every case; titles are unique for a driver."""
    around = [
        *_around(EXAMPLE.key, EXAMPLE.driver, EXAMPLE_KIND),
        *_around(NVIDIA.key, NVIDIA.driver, NVIDIA_KIND),
    ]
    return (*_rows(), *around)


def _rows() -> Iterator[Case]:
    for driver, vendor in TABLES.items():
        for row in tables.cases(driver):
            if row.changes or row.title in NEWER:  # the webhook runs with one set of feature gates
                continue
            made = builders.device_class if row.source == "Class" else builders.claim
            requests = () if row.source == "Class" else ("gpu",)
            document = made(builders.entry("@", driver, requests))
            body = json.dumps(reviews.review(document)).replace('"@"', row.parameters)
            truth: Truth = "rejects" if row.errors else "accepts"
            yield Case(vendor.key, driver, row.title, body, truth)


def _around(vendor: str, driver: str, kind: dict[str, str]) -> Iterator[Case]:
    def case(title: str, truth: Truth, *review: Any) -> Case:
        return Case(vendor, driver, title, json.dumps(reviews.review(*review)), truth)

    def entry(parameters: dict[str, Any], requests: tuple[str, ...] = ("gpu",)) -> dict[str, Any]:
        return builders.entry({**kind, **parameters}, driver, requests)

    good, bad = builders.claim(entry(GOOD)), builders.claim(entry(BAD))
    for version in ("v1beta1", "v1beta2"):
        old = {"apiVersion": f"resource.k8s.io/{version}"}
        yield case(f"a good claim in {version}", "accepts", {**good, **old})
        yield case(f"a bad claim in {version}", "rejects", {**bad, **old})
    yield case("a good template", "accepts", builders.template(entry(GOOD)))
    yield case("a bad template", "rejects", builders.template(entry(BAD)))
    yield case("a class with a good config", "accepts", builders.device_class(entry(GOOD, ())))
    yield case("a class with a bad config", "rejects", builders.device_class(entry(BAD, ())))
    yield case("a good entry and a bad one", "rejects", builders.claim(entry(GOOD), entry(BAD)))
    labelled = {**bad, "metadata": {"name": "claim", "labels": {"a": "b"}}}
    yield case(
        "a label for a claim that was bad before the webhook came",
        "accepts",
        labelled,
        "UPDATE",
        bad,
    )
    leaving = {**bad, "metadata": {"name": "claim", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    yield case("the last finalizer of a bad claim", "accepts", leaving, "UPDATE", bad)
    yield case("the deletion of a bad claim", "accepts", None, "DELETE", bad)
    mistyped = builders.entry({**kind, **BAD}, driver.replace("gpu.", "gpus.", 1), ("gpu",))
    yield case("a driver's name with one letter too many", "ignores", builders.claim(mistyped))
    choice = builders.claim(entry(GOOD), requests=(("gpu", ("big", "small")),))
    yield case("an entry that names a request with alternatives", "ignores", choice)
