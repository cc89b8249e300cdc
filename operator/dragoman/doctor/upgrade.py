"""Findings about an upgrade: what the target version of Kubernetes does not serve any more."""

from collections.abc import Iterator, Mapping

from dragoman.doctor import names
from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts, Upgrade
from dragoman.doctor.finding import Finding, FindingSubject, Id, Severity
from dragoman.doctor.removedgates import GATES_REMOVED_IN
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.model.fields import parts
from dragoman_base.versions import GROUP, OWN_DOMAIN_REFUSED, Version, removal
from dragoman_base.versions import name as version_name

KINDS: Mapping[str, str] = {
    "deviceclasses": "DeviceClass",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "resourceslices": "ResourceSlice",
    "devicetaintrules": "DeviceTaintRule",
    "resourcepoolstatusrequests": "ResourcePoolStatusRequest",
}
"""Kinds by plural."""


def api_removed(facts: DoctorFacts) -> Iterator[Finding]:
    """A client asks for a version that the target, or a later one, does not serve."""
    if facts.upgrade is None:
        return
    for one in sorted(facts.upgrade.requested, key=lambda one: (one.version, one.resource)):
        gone = removal(f"{GROUP}/{one.version}", KINDS.get(one.resource, ""))
        if gone is None:
            continue
        by = f" by {few(list(one.clients))}" if one.clients else " since the API server started"
        remedy = "let them ask for a newer version" if one.clients else "--audit-log names who asks"
        yield Finding(
            Id.API_REMOVED,
            FindingSubject(f"{one.version} {one.resource}"),
            f"asked for{by}: Kubernetes {version_name(gone)} does not serve it",
            f"{remedy}: {GROUP}/v1 is served since 1.34",
            level=_level(facts.upgrade, gone),
        )


def driver_outdated(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver writes its slices in such a version, or with names that newer libraries refuse."""
    if facts.upgrade is None:
        return
    found: dict[tuple[str, str], list[InventoryPool]] = {}
    for pool in facts.inventory.pools.values():
        for version in {_version(facts, one.name) for one in pool.slices}:
            found.setdefault((pool.id.driver, version), []).append(pool)
    for (driver, version), pools in sorted(found.items()):
        gone = removal(f"{GROUP}/{version}", "ResourceSlice")
        if gone is not None:
            yield _outdated(facts, facts.upgrade, driver, version, pools, gone)
    if facts.upgrade.target >= OWN_DOMAIN_REFUSED:
        yield from names.refused_names(facts)


def unknown(facts: DoctorFacts) -> bool:
    """Whether some slice does not say in which version it was written, as in old snapshots."""
    pools = facts.inventory.pools.values()
    return any(not _version(facts, one.name) for pool in pools for one in pool.slices)


def _version(facts: DoctorFacts, name: str) -> str:
    """Return the version in which a slice was last written; empty where that is unknown."""
    written = [
        (str(one.get("time") or ""), str(one.get("apiVersion") or ""))
        for one in parts(facts.slices.get(name), "metadata", "managedFields")
    ]
    # Times are whole seconds: of two versions in one second the newest counts.
    last = max(written, default=("", ""), key=lambda one: (one[0], one[1] == f"{GROUP}/v1"))
    return last[1].rpartition("/")[2]


def _outdated(  # noqa: PLR0913, PLR0917 — the parts of a finding
    facts: DoctorFacts,
    upgrade: Upgrade,
    driver: str,
    version: str,
    pools: list[InventoryPool],
    gone: Version,
) -> Finding:
    shown = few([pool.id.pool for pool in pools])
    return Finding(
        Id.DRIVER_OUTDATED,
        facts.pool_subject(pools[0], f"{driver} {version}"),
        f"{shown}: slices were last written in {GROUP}/{version}, which Kubernetes "
        f"{version_name(gone)} does not serve: a driver that still writes it publishes no devices "
        "then",
        f"upgrade the driver to a release that writes {GROUP}/v1 before the cluster; where that is "
        "done already, its slices are as the former release wrote them: delete them, and the "
        f"driver writes them again, with apiVersion {GROUP}/v1 in metadata.managedFields",
        level=_level(upgrade, gone),
    )


def gate_removed(facts: DoctorFacts) -> Iterator[Finding]:
    """A flag sets a feature gate that the target, or a later version, does not know."""
    if facts.upgrade is None:
        return
    for pod, gates in sorted(facts.upgrade.gates.items()):
        for gate in gates:
            gone = GATES_REMOVED_IN.get(gate)
            if gone is not None:
                yield Finding(
                    Id.GATE_REMOVED,
                    FindingSubject(f"{pod} {gate}"),
                    f"--feature-gates sets {gate}, which Kubernetes {version_name(gone)} does not "
                    "know: the component does not start then",
                    f"remove {gate} from --feature-gates",
                    level=_level(facts.upgrade, gone),
                )


def _level(upgrade: Upgrade, gone: Version) -> Severity:
    return Severity.ERROR if gone <= upgrade.target else Severity.WARNING
