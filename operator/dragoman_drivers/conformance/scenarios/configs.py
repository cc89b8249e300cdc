"""P10, P11, P14, U7: opaque configs, which need the vendor's profile."""

import copy
import re
from collections.abc import Iterator
from typing import Any

from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site


def typos(parameters: Any) -> Iterator[tuple[Any, str]]:
    """Yield parameters with one error each, and a word that a good message has. Pure."""
    if not isinstance(parameters, dict):
        return
    yield {**copy.deepcopy(parameters), "dragomanTypo": 1}, "dragomanTypo"
    if "kind" in parameters:
        yield {**parameters, "kind": "DragomanKind"}, "DragomanKind"
    if "apiVersion" in parameters:
        group = str(parameters["apiVersion"]).partition("/")[0]
        yield {**parameters, "apiVersion": f"{group}/v99"}, "v99"


def _good(site: Site) -> Any:
    if not site.profile.good:
        raise NotRunError("the profile has no configs.good")
    return site.profile.good[0]


@scenario("P10")
def bad_configs(site: Site) -> None:
    """Bad parameters are refused, and the error names the field."""
    good = _good(site)
    for parameters in site.profile.good:
        claim = site.claim(*site.take(1), config=[site.opaque(parameters)])
        site.prepared(claim)
        site.unprepared(claim)
    for parameters, word in (*typos(good), *site.profile.bad):
        claim = site.claim(*site.take(1), config=[site.opaque(parameters)])
        error = site.refused(claim)
        need(error, f"accepted {parameters}")
        need(word in error, f"the error does not name {word}: {error}")
        need(not site.claim_ids(claim), "a refused config leaves a CDI document")


@scenario("P11")
def precedence(site: Site) -> None:
    """The last entry of the claim wins, and entries of the main request cover subrequests."""
    good = _good(site)
    (bad, _), *_ = [*typos(good)] or [({}, "")]
    (name,) = site.take(1)

    def accepted(*entries: Any, request: str = "") -> bool:
        claim = site.claim(name, config=entries, request=request)
        error = site.refused(claim)
        site.unprepared(claim)
        return not error

    # A driver may validate entries that another overrides, so only what must be applied is tried.
    need(
        accepted(site.opaque(good, source="FromClass"), site.opaque(good)), "two good entries fail"
    )
    need(
        not accepted(site.opaque(good, source="FromClass"), site.opaque(bad)),
        "the claim's entry is not applied after the class's: a bad one was accepted",
    )
    need(not accepted(site.opaque(bad, requests=())), "an entry without requests covers nothing")
    need(
        not accepted(site.opaque(bad, requests=["gpu"]), request="gpu/big"),
        "an entry for `gpu` does not cover `gpu/big`: a bad one was accepted",
    )
    _subrequest(site, name, good)
    if len(site.profile.good) > 1:
        first, last, *_ = site.profile.good
        claim = site.claim(name, config=[site.opaque(first), site.opaque(last)])
        site.prepared(claim)
        both = _documents(site, claim)
        site.unprepared(claim)
        other = site.claim(name, config=[site.opaque(last)])
        site.prepared(other)
        alone = _documents(site, other)
        site.unprepared(other)
        need(both == alone, "of two entries not the last one was applied")


def _subrequest(site: Site, name: str, good: Any) -> None:
    """Compare documents, for drivers that validate every entry: `gpu` must reach `gpu/big`."""

    def described(*entries: Any) -> str:
        claim = site.claim(name, config=entries, request="gpu/big")
        site.prepared(claim)
        found = _documents(site, claim)
        site.unprepared(claim)
        return found

    plain, everywhere = described(), described(site.opaque(good))
    main = described(site.opaque(good, requests=["gpu"]))
    if plain != everywhere:  # the config is visible in documents
        need(main == everywhere, "an entry for `gpu` is not applied to `gpu/big`")


def _documents(site: Site, claim: Any) -> str:
    uid = claim["metadata"]["uid"]
    found = [  # the version that is needed depends on the UID: names may not start with a digit
        str({**tree, "cdiVersion": ""})
        for name, tree in site.cdi_documents().items()
        if uid in str(tree) + name
    ]
    # Metadata of devices is mounted below the claim's name.
    return re.sub(
        rf"\b{re.escape(claim['metadata']['name'])}\b", "", "".join(found).replace(uid, "")
    )


@scenario("P14")
def impossible(site: Site) -> None:
    """Parameters that ask for what the device cannot do change nothing."""
    if site.profile.impossible is None:
        raise NotRunError("the profile has no `impossible`")
    claim = site.claim(*site.take(1), config=[site.opaque(site.profile.impossible)])
    before = len(site.documents.events)
    need(site.refused(claim), "accepted a config that the device cannot have")
    written = [one for one in site.documents.events[before:] if one.kind in {"create", "moved-to"}]
    need(not written, f"{written[0].name if written else ''} was written before the refusal")
    need(not site.claim_ids(claim), "a CDI document was left")


@scenario("U7")
def reset(site: Site) -> None:
    """A released device is as it was before."""
    if not site.profile.reset:
        raise NotRunError("the profile has no `reset`, a command that looks at a released device")
    (name,) = site.take(1)
    claim = site.claim(name, config=[site.opaque(_good(site))])
    site.prepared(claim)
    site.unprepared(claim)
    try:
        site.shell(site.profile.reset, device=name)
    except NotRunError as error:
        need(False, str(error))  # noqa: FBT003 — the probe itself is the verdict
