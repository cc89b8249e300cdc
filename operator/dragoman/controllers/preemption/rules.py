"""DeviceTaintRules as preemptions see them: reservations, and what others take out of service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.allocation import DeviceID
from dragoman.kube.client import Client, items
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.model.fields import MalformedObjectError
from dragoman.model.taints import parse_taint_rule
from dragoman.preemption.reservation import TAINT_KEY, OtherRule, keeps_away
from dragoman.preemption.stored import moment

log = logger("dragoman.preemption")


@dataclass(slots=True)
class ReservationRules:
    """The rules of a cluster."""

    # Name and UID of the rules that reserve devices, by the pod's UID and the device
    reserved: dict[str, dict[DeviceID, tuple[str, str]]] = field(default_factory=dict)
    # All other rules that keep claims away from devices
    others: list[OtherRule] = field(default_factory=list)

    def add(self, item: Mapping[str, Any]) -> None:
        """Note a rule; one that others labeled as ours, and taints otherwise, is theirs."""
        metadata, spec = item["metadata"], item.get("spec") or {}
        uid = (metadata.get("labels") or {}).get(TAINT_KEY, "")
        taint, selector = spec.get("taint") or {}, spec.get("deviceSelector") or {}
        parts = [selector.get(one) for one in DeviceID._fields]
        if uid and (taint.get("key"), taint.get("value")) == (TAINT_KEY, uid) and all(parts):
            known = (metadata["name"], metadata["uid"])
            self.reserved.setdefault(uid, {})[DeviceID(*map(str, parts))] = known
            return
        try:
            rule = parse_taint_rule(item)
        except MalformedObjectError as error:
            log.warning("Cannot read a DeviceTaintRule", error=str(error))
            return
        if keeps_away(rule):
            # The API server sets timeAdded again where an update changes the effect.
            times = (metadata.get("creationTimestamp"), taint.get("timeAdded"))
            self.others.append(OtherRule(rule, max(map(moment, times))))


async def read_rules(client: Client, resource: Resource, **parameters: str) -> ReservationRules:
    """List DeviceTaintRules.

    Args:
        client: Who reads.
        resource: DeviceTaintRules in the served version.
        parameters: Of the request, such as a label selector.
    """
    found = ReservationRules()
    async for item in items(client, resource.path(), **parameters):
        found.add(item)
    return found
