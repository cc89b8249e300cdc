"""V and M: versions of interfaces, probes, metrics, logs, times."""

import re
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import urllib3

from dragoman_drivers.conformance.checks import FailedError, NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.scenarios.configs import typos
from dragoman_drivers.conformance.site import Site
from dragoman_drivers.kubeletplugin import messages
from dragoman_drivers.kubeletplugin.client import Endpoint

OLD = ("/apis/resource.k8s.io/v1beta1/", "/apis/resource.k8s.io/v1beta2/")
ONLY_V1 = "--runtime-config=resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false"
"""As Kubernetes 1.38 is."""
WITHOUT_V1 = (
    "--runtime-config="
    "resource.k8s.io/v1=false,resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true"
)
"""As Kubernetes 1.33 is."""
FIRST_WITH_V1 = 34
"""Minor release of Kubernetes that has resource.k8s.io/v1 and dra.v1."""
TIMES = 20
SERIES = re.compile(
    r"(?P<series>[a-zA-Z_:][\w:]*(\{.*\})?)\s+(?P<value>[-+.\deE]+|[-+]?Inf|NaN)(\s+-?\d+)?"
)
"""A line of Prometheus' text format, with or without a time."""
ABOUT = re.compile("prepare|claim", re.IGNORECASE)
DURATION = re.compile("second|duration|latency", re.IGNORECASE)


@scenario("V1", "versions")
def api_version(site: Site) -> str:
    """resource.k8s.io/v1 is used where it is served, and other API servers do as well."""
    _works(site)
    old = [one for one in site.proxy.requests if one.path.startswith(OLD)]
    need(not old, f"it uses {old[0].path}, which Kubernetes 1.38 removes" if old else "")
    if site.setting.quick:  # a must that is tried in part is not passed
        raise NotRunError("--quick starts no API server without v1beta1: only the usual was tried")
    tried = {"without v1beta1 and v1beta2": ONLY_V1}
    if _promises_old(site):
        tried["without v1"] = WITHOUT_V1
    for what, flag in tried.items():
        with _explained(what), site.served_by([flag]):
            _works(site)
    return f"also {' and '.join(tried)}"


def _works(site: Site) -> None:
    """Prepare a claim, and unprepare it."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.unprepared(claim)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Say which API server a failure belongs to."""
    try:
        yield
    except FailedError as error:
        raise FailedError(f"on an API server {what}: {error}") from None


def _promises_old(site: Site) -> bool:
    """Whether releases are promised that have neither resource.k8s.io/v1 nor dra.v1."""
    return 0 < site.profile.oldest < FIRST_WITH_V1


@scenario("V2", "published")
def service_version(site: Site) -> None:
    """dra.v1 is served, and dra.v1beta1 where old kubelets are promised."""
    assert site.info is not None
    wanted = {messages.V1: messages.DRA}
    if _promises_old(site):
        wanted[messages.V1BETA1] = messages.DRA_V1BETA1
    for version, service in wanted.items():
        need(
            version in site.info.versions,
            f"supported_versions is {list(site.info.versions)}, without {version}",
        )
        Endpoint(site.endpoint.socket, service).prepare((), 5)


@scenario("M1", "operation")
def liveness(site: Site) -> None:
    """Liveness answers, and fails when the DRA service does not."""
    url = _url(site, site.profile.liveness, "liveness")
    need(_get(url)[0] == 200, f"{url} answers {_get(url)[0]}")
    socket = site.endpoint.socket
    aside = socket.with_name("aside.sock")
    socket.rename(aside)
    site.step("move the socket of the DRA service away")
    try:
        code, _ = _get(url)
    finally:
        aside.rename(socket)
    need(code != 200, "liveness is 200 although the DRA service cannot be called")


@scenario("M2", "operation")
def metrics(site: Site) -> str:
    """Metrics count prepared claims, their durations and errors, and name no claim."""
    url = _url(site, site.profile.metrics, "metrics")
    before = _series(url)
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    prepared = _series(url)
    _name_no_claim(prepared, claim)
    good = rising(before, prepared)
    need(good, "no metric of claims or preparations rises when a claim is prepared")
    need([one for one in good if DURATION.search(one)], "no metric has how long a prepare takes")
    found = f"{len(good)} series rise with a prepared claim"
    bad = _refused(site)
    if bad is None:
        return f"{found}; errors not tried: the profile has no config that is refused"
    refused = _series(url)
    _name_no_claim(refused, bad)
    errors = rising(prepared, refused) - good
    need(errors, "no metric rises when a prepare fails, and only then")
    return f"{found}, {min(errors)} with an error"


def _name_no_claim(series: Mapping[str, float], claim: Mapping[str, Any]) -> None:
    """Fail where a label has a claim's UID or name: such series grow without end."""
    meta = claim["metadata"]
    for word in (meta["uid"], f'"{meta["name"]}"'):
        named = next((one for one in series if word in one), "")
        need(not named, f"a metric has a claim as a label: {named}")


def _refused(site: Site) -> Mapping[str, Any] | None:
    """Return a claim that the driver refused for its config; None where it refuses none.

    It is the config, since a library may refuse other claims before they reach the driver. A driver
    may accept unknown fields: that is P10's business.
    """
    made = (one for good in site.profile.good[:1] for one, _ in typos(good))
    for parameters in (*(one for one, _ in site.profile.bad), *made):
        claim = site.claim(*site.take(1), config=[site.opaque(parameters)])
        if site.refused(claim):
            return claim
        site.unprepare(claim)
    return None


def rising(before: Mapping[str, float], after: Mapping[str, float]) -> set[str]:
    """Return the series of claims and preparations that are new or higher. Pure."""
    return {one for one, value in after.items() if ABOUT.search(one) and value > before.get(one, 0)}


def parse_metrics(text: str) -> dict[str, float]:
    """Return the value of each series of Prometheus' text format. Pure."""
    found = (SERIES.fullmatch(line.strip()) for line in text.splitlines())
    return {one["series"]: float(one["value"]) for one in found if one}


def _series(url: str) -> dict[str, float]:
    code, text = _get(url)
    need(code == 200, f"{url} answers {code}")
    return parse_metrics(text)


def _url(site: Site, text: str, what: str) -> str:
    if not text:
        raise NotRunError(f"the profile has no `{what}`")
    return site.subject.places.fill(text)


def _get(url: str) -> tuple[int, str]:
    try:
        answer = urllib3.request("GET", url, retries=False, timeout=10)
    except urllib3.exceptions.HTTPError as error:
        return 0, str(error)
    return answer.status, answer.data.decode(errors="replace")


@scenario("M4")
def failure_logged(site: Site) -> None:
    """A failure is logged with claim and UID."""
    claim = site.claim(allocate=False)
    at = site.subject.position()
    site.refused(claim)
    time.sleep(0.5)
    text = site.subject.logged(at)
    uid = claim["metadata"]["uid"]
    need(uid in text, "a claim that fails is not logged with its UID")
    lines = [one for one in text.splitlines() if uid in one]
    need(len(lines) <= 10, f"one failure is {len(lines)} lines of log")


@scenario("M5", "operation")
def times(site: Site) -> str:
    """How long calls take; never fails."""
    (name,) = site.take(1)
    taken: dict[str, list[float]] = {"prepare": [], "unprepare": []}
    for _ in range(TIMES):
        claim = site.claim(name)
        start = time.monotonic()
        site.prepared(claim)
        middle = time.monotonic()
        site.unprepared(claim)
        taken["prepare"].append(middle - start)
        taken["unprepare"].append(time.monotonic() - middle)
        site.delete(claim)
    return ", ".join(
        f"{what} p50 {statistics.median(found) * 1000:.0f} ms, max {max(found) * 1000:.0f} ms"
        for what, found in taken.items()
    )
