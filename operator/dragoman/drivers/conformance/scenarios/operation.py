"""V and M: versions of interfaces, probes, metrics, logs, times."""

from __future__ import annotations

import statistics
import time
from typing import Final

import urllib3

from dragoman.drivers.conformance.checks import NotRunError, need
from dragoman.drivers.conformance.scenarios import scenario
from dragoman.drivers.conformance.site import Site
from dragoman.drivers.kubeletplugin import messages
from dragoman.drivers.kubeletplugin.client import Endpoint

OLD: Final = ("/apis/resource.k8s.io/v1beta1/", "/apis/resource.k8s.io/v1beta2/")
TIMES: Final = 20


@scenario("V1", "published")
def api_version(site: Site) -> None:
    """resource.k8s.io/v1 is used where it is served."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    old = [one for one in site.proxy.requests if one.path.startswith(OLD)]
    need(not old, f"it uses {old[0].path}, which Kubernetes 1.38 removes" if old else "")


@scenario("V2", "published")
def service_version(site: Site) -> None:
    """dra.v1 is served."""
    assert site.info is not None
    need(messages.V1 in site.info.versions, f"supported_versions is {list(site.info.versions)}")
    Endpoint(site.endpoint.socket, messages.DRA).prepare((), 5)


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
    """Metrics count claims, and name none."""
    url = _url(site, site.profile.metrics, "metrics")
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    code, text = _get(url)
    need(code == 200, f"{url} answers {code}")
    meta = claim["metadata"]
    for word in (meta["uid"], f'"{meta["name"]}"'):
        need(word not in text, f"a metric has the claim's {word} as a label")
    lines = [one for one in text.splitlines() if "prepare" in one and not one.startswith("#")]
    need(lines, "no metric of preparations")
    return f"{len(lines)} series of preparations"


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
