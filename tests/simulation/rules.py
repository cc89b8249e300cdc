"""What the API server refuses of an update."""

import re
from collections.abc import Iterable

import orjson

from tests.simulation.objects import Json, deleting

MOST_CONSUMERS = 256
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 253


class Refusal(Exception):  # noqa: N818 — a Status of the API, whose word it is
    """A request is refused; attributes as in its Status object."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str = "",
        causes: Iterable[Json] = (),
        retry_after: str | None = None,
    ) -> None:
        super().__init__(f"{code} {reason} {message}")
        self.code, self.reason, self.message = code, reason, message
        self.causes, self.retry_after = list(causes), retry_after

    def body(self) -> bytes:
        """Return the Status object."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": self.code,
            "reason": self.reason,
            "message": self.message or self.reason,
            "details": {"causes": self.causes},
        }
        return orjson.dumps(status)


def validate(plural: str, old: Json, new: Json, subresource: str) -> None:
    """Raise Refusal for what validation refuses."""
    if plural == "resourceclaims":
        _validate_claim(old, new, subresource)
    if plural == "resourceclaimtemplates" and new.get("spec") != old.get("spec"):
        raise invalid("spec", "field is immutable")
    if plural in ("pods", "podgroups") and subresource == "status":
        _validate_holder(new)


def validate_name(name: str) -> None:
    """Raise Refusal for a name that no object may have."""
    if len(name) > LONGEST_NAME or not SUBDOMAIN.fullmatch(name):
        raise invalid("metadata.name", f"Invalid value: {name}")


def invalid(field: str, text: str) -> Refusal:
    return Refusal(422, "Invalid", f"{field}: {text}", [{"field": field, "reason": "Invalid"}])


def _validate_holder(new: Json) -> None:
    statuses = new["status"].get("resourceClaimStatuses") or ()
    entries = {entry["name"] for entry in new["spec"].get("resourceClaims") or ()}
    if not {one["name"] for one in statuses} <= entries:
        raise invalid("status.resourceClaimStatuses", "names no entry of the spec")


def _validate_claim(old: Json, new: Json, subresource: str) -> None:
    if subresource != "status":
        if new.get("spec") != old.get("spec"):
            raise invalid("spec", "field is immutable")
        found = set(old["metadata"].get("finalizers") or ())
        if deleting(old) and set(new["metadata"].get("finalizers") or ()) - found:
            raise invalid("metadata.finalizers", "Forbidden: no new finalizers")
        return
    was, status = old.get("status") or {}, new.get("status") or {}
    allocation = status.get("allocation")
    if why := _of_consumers(old, was, status):
        raise invalid("status.reservedFor", why)
    if was.get("allocation") and allocation and was["allocation"] != allocation:
        raise invalid("status.allocation", "field is immutable")


def _of_consumers(old: Json, was: Json, status: Json) -> str:
    """Return what is wrong with the consumers of a claim; empty for nothing."""
    reserved = status.get("reservedFor") or []
    uids = {one["uid"] for one in reserved}
    if len(reserved) > MOST_CONSUMERS:
        return "Too many"
    if reserved and not status.get("allocation"):
        return "Forbidden: not allocated"
    if len(uids) < len(reserved):
        return "Duplicate value"
    if deleting(old) and uids - {one["uid"] for one in was.get("reservedFor") or ()}:
        return "Forbidden: deletionTimestamp is set"
    return ""
