"""X: rights at the API server, and safety on the node."""

import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman_base.versions import GROUP
from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site, reference, renamed
from dragoman_drivers.kubeletplugin.client import CallError
from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_toolkit.doctor.driverrights import (
    DRY_RUN,
    VERSIONS,
    DryRun,
    DryRunAnswer,
    Existing,
    Identity,
    attempts,
    faults,
)

FOREIGN_NODE = "another-node"


def excessive(rules: Any) -> str:
    """Return what a rule of RBAC allows beyond need; the empty text for nothing. Pure."""
    for rule in rules or ():
        resources, verbs = {*rule.get("resources", ())}, {*rule.get("verbs", ())}
        if "*" in resources | verbs | {*rule.get("apiGroups", ())}:
            return "has a rule with `*`"
        if "secrets" in resources:
            return "may read secrets"
        writing = {"create", "update", "patch", "delete", "deletecollection"}
        if resources & {"pods", "nodes"} and verbs & writing:
            return f"may {min(verbs & writing)} {min(resources & {'pods', 'nodes'})}"
        if "resourceclaims" in resources and verbs & (writing - {"update", "patch"}):
            return f"may {min(verbs & writing)} resourceclaims"
    return ""


def roles(manifests: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the roles among manifests. Pure."""
    yield from (one for one in manifests if one.get("kind") in {"ClusterRole", "Role"})


@scenario("X1", "published")
def other_nodes(site: Site) -> str:
    """The driver's account cannot touch slices of another node: as `doctor` tries it."""
    if not site.setting.shipped:
        raise NotRunError("without --manifests there is no shipped policy")
    identity = Identity(site.driver, *site.setting.account, "", "", site.node)
    foreign = Existing(f"foreign-{site.node}", FOREIGN_NODE)
    site.api.create(_foreign(site, foreign))
    as_driver = site.setting.plane.api(token=site.token)
    try:
        tried = attempts(identity, FOREIGN_NODE, foreign, VERSIONS)
        answers = [_answer(site, as_driver, one) for one in tried]
    finally:
        site.api.delete("resourceslices", foreign.name)
        as_driver.close()
    found = [*faults(identity, answers, [])]
    need(not found, found[0].what if found else "")
    served = {one.attempt.version for one in answers if one.code != 404}
    return f"by {', '.join(one for one in VERSIONS if one in served)}"


def _foreign(site: Site, foreign: Existing) -> Mapping[str, Any]:
    """Return a slice of the driver on another node."""
    pool = {"name": foreign.pool, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": site.driver, "nodeName": FOREIGN_NODE, "pool": pool, "devices": []}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": foreign.name},
        "spec": spec,
    }


def _answer(site: Site, as_driver: Api, attempt: DryRun) -> DryRunAnswer:
    """Send a dry run as the driver; a version that is not served is refused with 404."""
    site.step(f"as the driver's account, dry run: {attempt.method} {attempt.path}")
    kind = "application/merge-patch+json" if attempt.verb == "patch" else "application/json"
    query: dict[str, Any] = {**DRY_RUN}
    try:
        as_driver.request(
            attempt.method, attempt.path, dict(attempt.body), content_type=kind, **query
        )
    except ApiError as error:
        if error.code not in {403, 404, 422}:  # 422: a policy that answers Invalid
            raise
        return DryRunAnswer(attempt, error.code, str(error))
    return DryRunAnswer(attempt)


@scenario("X2", "published")
def least(site: Site) -> None:
    """Rights are no more than needed."""
    asked = [one for one in site.proxy.requests if one.concerns("secrets")]
    need(not asked, f"it reads secrets: {asked[:1]}")
    if not site.setting.shipped:
        raise NotRunError("without --manifests there are no shipped permissions")
    for role in roles(site.setting.shipped):
        problem = excessive(role.get("rules"))
        need(not problem, f"{role['kind']} {role['metadata']['name']} {problem}")


@scenario("X3", "published")
def enough(site: Site) -> None:
    """No request is refused for want of rights, also while a claim is prepared."""
    with suppress(CallError):
        site.prepare(site.claim(*site.take(1)))
    refused = [one for one in site.proxy.requests if one.code == 403]
    need(not refused, f"403 for {refused[0].method} {refused[0].path}" if refused else "")


@scenario("X4", "published")
def socket_modes(site: Site) -> None:
    """Sockets are not writable by others."""
    for path in (site.registration(), site.endpoint.socket):
        mode = stat.S_IMODE(path.stat().st_mode)
        need(not mode & 0o002, f"{path.name} has mode {mode:o}")


@scenario("X5")
def contained(site: Site) -> None:
    """What a claim names does not become a path."""
    claim = site.claim(*site.take(1))
    before = {*_everything(site.root)}
    for name, uid in (
        ("../../escape", "../../escape"),
        ("a\nb", "x/../../escape"),
        ("z" * 253, ""),
    ):
        odd = renamed(claim, name=name, uid=uid)
        for call in (site.endpoint.prepare, site.endpoint.unprepare):
            try:
                call([reference(odd)], 10)
            except CallError:
                need(site.subject.runs, f"the driver ended at a claim named {name[:20]!r}")
    site.unprepared(claim)
    outside = [one for one in {*_everything(site.root)} - before if "escape" in str(one)]
    need(not outside, f"{outside[:1]} was written")


def _everything(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("*")
    yield from folder.parent.glob("*")


@scenario("X6", "published")
def container(site: Site) -> str:
    """Privileges of the shipped containers; never fails."""
    if not site.setting.shipped:
        raise NotRunError("without --manifests there are no containers")
    found = []
    for one in site.setting.shipped:
        template = ((one.get("spec") or {}).get("template") or {}).get("spec") or {}
        for entry in template.get("containers") or ():
            context = entry.get("securityContext") or {}
            found.append(f"{entry['name']}: privileged={bool(context.get('privileged'))}")
        found += [v["hostPath"]["path"] for v in template.get("volumes") or () if "hostPath" in v]
    return ", ".join(found)
