"""What the API server refuses of an update."""

from collections.abc import Iterable

import orjson

from tests.simulation.objects import Json, deleting

MOST_CONSUMERS = 256


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
        raise Refusal(422, "Invalid", "spec: field is immutable")


def _validate_claim(old: Json, new: Json, subresource: str) -> None:
    if subresource != "status":
        if new.get("spec") != old.get("spec"):
            raise Refusal(422, "Invalid", "spec: field is immutable")
        found = set(old["metadata"].get("finalizers") or ())
        if deleting(old) and set(new["metadata"].get("finalizers") or ()) - found:
            raise Refusal(422, "Invalid", "metadata.finalizers: Forbidden: no new finalizers")
        return
    was, status = old.get("status") or {}, new.get("status") or {}
    reserved, allocation = status.get("reservedFor") or [], status.get("allocation")
    if len(reserved) > MOST_CONSUMERS:
        raise Refusal(422, "Invalid", "status.reservedFor: Too many")
    if reserved and not allocation:
        raise Refusal(422, "Invalid", "status.reservedFor: Forbidden: not allocated")
    before = {one["uid"] for one in was.get("reservedFor") or ()}
    if len({one["uid"] for one in reserved}) < len(reserved):
        raise Refusal(422, "Invalid", "status.reservedFor: Duplicate value")
    if deleting(old) and {one["uid"] for one in reserved} - before:
        raise Refusal(422, "Invalid", "status.reservedFor: Forbidden: deletionTimestamp is set")
    if was.get("allocation") and allocation and was["allocation"] != allocation:
        raise Refusal(422, "Invalid", "status.allocation: field is immutable")
