"""U: what NodeUnprepareResources leaves."""

from dragoman_drivers.conformance.checks import need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site, new_uid, renamed

CYCLES = 100


@scenario("U1")
def cleans(site: Site) -> None:
    """An entry for each claim, and no documents."""
    claim = site.claim(*site.take(1))
    before = site.cdi_documents()
    site.prepared(claim)
    site.unprepared(claim)
    left = site.cdi_documents().keys() - before.keys()
    need(not left, f"CDI documents are left: {sorted(left)}")
    need(not site.claim_ids(claim), "CDI devices of the claim are left")


@scenario("U2")
def again(site: Site) -> None:
    """A second unprepare succeeds."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.unprepared(claim)
    site.unprepared(claim)


@scenario("U3")
def never_prepared(site: Site) -> None:
    """A claim that was never prepared, or failed to, is unprepared with success."""
    claim = site.claim(*site.take(1))
    site.unprepared(renamed(claim, uid=new_uid(), name="never"))
    failed = site.claim(allocate=False)
    site.refused(failed)
    site.unprepared(failed)


@scenario("U4")
def without_object(site: Site) -> None:
    """After the ResourceClaim is deleted, an unprepare succeeds and cleans."""
    claim = site.claim(*site.take(1))
    site.prepared(claim)
    site.delete(claim)
    site.unprepared(claim)
    need(not site.claim_ids(claim), "CDI devices of the claim are left")


@scenario("U5")
def namesake(site: Site) -> None:
    """A new claim of the same name keeps what it has when the old one is unprepared."""
    one, two = site.take(2)
    old = site.claim(one, name="same")
    site.prepared(old)
    site.delete(old)
    new = site.claim(two, name="same")
    found = site.prepared(new)
    site.unprepared(old)
    missing = {name for one in found for name in one.cdi} - site.cdi_ids().keys()
    need(not missing, f"{sorted(missing)} went with the old claim of the same name")


@scenario("U6")
def failed_unprepare(site: Site) -> None:
    """A failed unprepare keeps the device withheld."""
    (name,) = site.take(1)
    first = site.claim(name)
    site.prepared(first)
    with site.unusable_cdi():
        error = site.unprepare(first).get(first["metadata"]["uid"], "")
    if not error:  # the driver could do without the folder: then the device is free
        need(not site.claim_ids(first), "success was answered, but CDI devices are left")
        return
    second = site.claim(name)
    need(site.refused(second), f"{name} was prepared for another claim after a failed unprepare")
    site.unprepared(first)
    site.prepared(second)


@scenario("U8", "cycles")
def no_leak(site: Site) -> str:
    """A hundred cycles of claims that are deleted leave no files."""
    (name,) = site.take(1)
    cycles = 20 if site.setting.quick else CYCLES

    def files() -> set[str]:
        places = (site.cdi, site.kubelet)
        return {str(path) for place in places for path in place.rglob("*")}

    first = site.claim(name)
    site.prepared(first)
    site.unprepared(first)
    before = files()
    for _ in range(cycles):
        claim = site.claim(name)
        site.prepared(claim)
        site.delete(claim)
        site.unprepared(claim)
    left = files() - before
    need(
        not left,
        f"{len(left)} files are left after {cycles} claims, such as {min(left, default='')}",
    )
    return f"{cycles} claims"
