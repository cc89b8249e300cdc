"""How the pretended driver misbehaves on request: each fault breaks one rule of the interfaces.

`--fault NAME` or `--fault NAME=VALUE`, and at run time lines of the file `faults` in the driver's
folder below `plugins`. The conformance kit has one fault for each of its checks (`docs/checks.md`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman_base.words.spelling import closest

CONDITIONS = {
    "slow": "each preparation takes VALUE seconds longer",
    "failing": "each preparation fails with VALUE",
    "clinging": "each unprepare fails with VALUE",
    "unhealthy": "device VALUE is unhealthy and has a taint",
    "lost": "device VALUE is not there",
    "enumeration": "the devices are found in the order VALUE: reversed",
    "checkpoint": "the checkpoint is that of an older release: VALUE is first",
}
"""States that a real driver may be in."""

# Each of these is meant to break the check of that id; docs/checks.md shows which checks have one.
MUTANTS = {
    "hidden-socket": "R1: the registration socket's name starts with a dot",
    "other-name": "R2: GetInfo answers another name than the slices have",
    "slow-info": "R2: GetInfo takes 3 s",
    "relative-endpoint": "R3: GetInfo answers a relative path",
    "no-version": "R4: supported_versions has no DRA service",
    "unserved-health": "R4: supported_versions has a health service that does not exist",
    "early-registration": "R5: the registration socket appears before the service",
    "exit-on-refusal": "R6: it exits when the kubelet rejects the registration",
    "silent-on-refusal": "R6: it does not log why the kubelet rejected the registration",
    "registers-once": "R7: GetInfo fails after the first registration",
    "stale-socket": "R8: it does not start while sockets of a killed predecessor are there",
    "long-socket": "R9: the socket of the DRA service has a long name",
    "ignores-sigterm": "R10: it does not end at SIGTERM",
    "cuts-calls": "R10: it cuts calls in flight at SIGTERM",
    "single-instance": "R11: a second instance exits immediately",
    "wipes-at-exit": "R12: the old instance deletes the slices of the new one",
    "extra-uid": "P1: an answer has an entry for a claim that was not asked for",
    "no-pool": "P2: answers have no pool names",
    "all-drivers": "P3: devices of other drivers are answered too",
    "any-uid": "P4: the UID of a claim is not compared",
    "empty-success": "P4: a claim without devices of this driver succeeds",
    "whole-batch": "P5: one bad claim fails the whole batch",
    "default-device": "P6: an unreadable claim gets the first device",
    "waits-for-api": "P7: it waits for the API server without a limit",
    "ignores-cancel": "P8: it finishes what the kubelet canceled",
    "bad-cdi-id": "P9: CDI ids have two slashes",
    "any-config": "P10: parameters are not validated",
    "first-config": "P11: the first config wins",
    "whole-request": "P12: request_names has the subrequest",
    "no-share": "P13: share_id is empty",
    "changes-first": "P14: a config is refused after the device was set up",
    "slow-results": "P15: each device takes 2 s",
    "lost-accepted": "P16: a device that is gone is prepared",
    "panics": "P17: an empty request ends it",
    "no-entry": "U1: the answer of an unprepare is empty",
    "leaves-documents": "U1: an unprepare leaves the CDI document",
    "strict-unprepare": "U2: a claim that is not prepared fails to unprepare",
    "needs-prepared": "U3: a claim that was never prepared fails to unprepare",
    "needs-object": "U4: an unprepare reads the claim",
    "by-name": "U5: an unprepare removes the files of the claim's name",
    "frees-on-failure": "U6: a failed unprepare frees the device",
    "keeps-config": "U7: the device keeps its config",
    "leaks": "U8: each claim leaves a file",
    "answers-differ": "I1: a second prepare answers other ids",
    "races": "I2: no lock around the first prepare",
    "double": "I3: a second claim gets a device in use",
    "one-at-a-time": "I4: a claim is refused while another one is prepared",
    "late-prepare": "I5: a prepare may finish after an unprepare",
    "own-state": "I6: two instances do not share their state",
    "commits-first": "I7: a prepare that failed counts as prepared",
    "forgets-seventh": "I8: each seventh claim is not withheld",
    "late-document": "C1: the CDI document comes after the answer",
    "not-atomic": "C2: CDI documents are written in place",
    "bad-document": "C3: CDI documents have no kind",
    "new-cdi": "C3: cdiVersion is above what the fields of CDI documents need",
    "shared-names": "C4: CDI names have no claim UID",
    "conflict": "C5: two documents define one device",
    "trusts-documents": "C6: documents that are lost do not come back",
    "mounts-root": "C7: the root folder is mounted",
    "world-writable": "C8: CDI documents are writable by everyone",
    "foreign-owner": "C8: CDI documents belong to another user",
    "shows-secrets": "C8: secrets of configs are in CDI documents",
    "fixed-cdi": "C9: the CDI folder must exist",
    "forgets": "K1: nothing is kept over a restart",
    "forgets-documents": "K2: an unprepare after a restart leaves the document",
    "torn": "K3: a kill between two steps leaves a claim that never prepares",
    "crash-loop": "K4: a broken checkpoint ends it without a word",
    "needs-device": "K5: a checkpoint of a device that is gone ends it",
    "other-format": "K6: a checkpoint of another version is ignored",
    "strict-format": "K6: a checkpoint without the newest fields is thrown away",
    "renames": "K7: devices have new names after a restart",
    "numbers": "K7: devices are named by their place in the enumeration",
    "needs-api": "K8: it exits when the API server is away at its start",
    "needs-node": "K9: it exits when its Node does not exist",
    "keeps-deleted": "K10: a deleted claim stays prepared",
    "wrong-count": "S1: resourceSliceCount is one too high",
    "falling": "S2: the generation falls",
    "twice": "S3: a device is in two slices",
    "one-pool": "S4: all nodes have one pool name",
    "orphan": "S5: slices have no owner",
    "stale-owner": "S5: the owner of slices has another UID than the Node",
    "once": "S6: deleted slices do not come back",
    "never-repairs": "S7: slices that others change stay as they are",
    "rewrites": "S8: slices are written again and again",
    "ignores-loss": "S9: a device that is lost stays published",
    "one-slice": "S10: all devices go into one slice",
    "fights-drops": "S11: fields that the API server drops are written again and again",
    "unknown-counter": "S12: devices consume an unknown counter",
    "high-default": "S13: the default of a capacity exceeds it",
    "no-empty": "S14: an empty pool has no slice",
    "exit-on-conflict": "S15: it exits when a write conflicts",
    "future-taint": "S16: a taint is dated 2099",
    "no-driver-version": "S17: devices have no version",
    "empty-devices": "S18: slices of counters have an empty list of devices",
    "rewrites-at-exit": "S19: slices are written again and again at SIGTERM",
    "upper-case": "N1: the driver's name has an upper case letter",
    "own-domain": "N2: attributes have the driver's own domain",
    "pci-root": "N3: a standard attribute is misspelled",
    "mixed-types": "N4: an attribute has two types",
    "admin-takes": "A1: admin access takes the device",
    "admin-configs": "A2: admin access accepts a config",
    "share-ends-all": "A3: the end of a share ends the others",
    "any-amount": "A4: consumed capacity is not enforced",
    "wrong-status": "A5: status.devices gets a device that is not allocated",
    "shared-manager": "A5: status.devices is written as the scheduler's field manager",
    "manager-per-start": "A5: status.devices has another field manager after a restart",
    "never-binds": "A6: binding conditions are never set",
    "foreign-metadata": "A7: the metadata of devices name another claim",
    "half-health": "H1: the health stream leaves out a device",
    "one-health-change": "H1: after a change the health stream has the changed devices alone",
    "one-stream": "H2: a second health stream ends the first",
    "old-health": "H3: last_updated_time never moves",
    "always-healthy": "H4: a device that fails stays healthy",
    "no-health-v1": "H5: the health service is served in v1alpha1 alone",
    "reads-secrets": "X2: it reads secrets",
    "forbidden": "X3: it asks for what it has no permission for",
    "open-sockets": "X4: sockets are writable by everyone",
    "follows-paths": "X5: a claim's name becomes a path",
    "old-api": "V1: it uses v1beta1",
    "needs-old-api": "V1: it does not start where v1beta1 is not served",
    "no-v1beta1": "V2: it serves v1 only, although Kubernetes 1.33 is promised",
    "no-v1": "V2: it serves v1beta1 only",
    "always-live": "M1: liveness is 200 whether the DRA service answers or not",
    "claim-labels": "M2: a metric has the claim's UID as a label",
    "still-metrics": "M2: no metric changes",
    "untimed": "M2: no metric has how long a prepare takes",
    "uncounted-errors": "M2: no metric counts errors",
    "silent-failure": "M4: failures are not logged",
}


class FaultError(ValueError):
    """A fault that is not known; the message has those that are near."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How the driver misbehaves.

    Attributes:
        slow: Seconds that each preparation takes longer.
        failing: What each preparation fails with, unless empty.
        clinging: What each unprepare fails with, unless empty.
        unhealthy: Names of devices that fail.
        lost: Names of devices that are not there.
        enumeration: Order in which devices are found, unless empty.
        checkpoint: The older release whose checkpoint is kept, unless empty.
        mutants: Names in MUTANTS.
    """

    slow: float = 0
    failing: str = ""
    clinging: str = ""
    unhealthy: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    enumeration: str = ""
    checkpoint: str = ""
    mutants: frozenset[str] = field(default_factory=frozenset)

    def __contains__(self, mutant: object) -> bool:
        """Whether it has a fault of MUTANTS."""
        return mutant in self.mutants


def parse(texts: Iterable[str]) -> Faults:
    """Read faults as options and the fault file spell them.

    Raises:
        FaultError: An unknown name, or a value where none belongs.
    """
    given: dict[str, list[str]] = {}
    mutants: set[str] = set()
    for text in filter(None, map(str.strip, texts)):
        name, equals, value = text.partition("=")
        if name in MUTANTS and not equals:
            mutants.add(name)
        elif name in CONDITIONS and value:
            given.setdefault(name, []).append(value)
        else:
            raise FaultError(_unknown(name))
    return Faults(
        _seconds(given.get("slow", ["0"])[-1]),
        given.get("failing", [""])[-1],
        given.get("clinging", [""])[-1],
        frozenset(given.get("unhealthy", ())),
        frozenset(given.get("lost", ())),
        _one_of("enumeration", "reversed", given),
        _one_of("checkpoint", "first", given),
        frozenset(mutants),
    )


def _one_of(name: str, known: str, given: Mapping[str, list[str]]) -> str:
    text = given.get(name, [""])[-1]
    if text not in {"", known}:
        raise FaultError(f"{name}={text}: known is {name}={known}")
    return text


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FaultError(f"slow={text}: expected a number of seconds") from None


def _unknown(name: str) -> str:
    if name in MUTANTS:
        return f"fault {name} takes no value"
    if name in CONDITIONS:
        return f"fault {name} needs a value: --fault {name}=VALUE ({CONDITIONS[name]})"
    near = closest(name, [*MUTANTS, *CONDITIONS])
    return f"unknown fault {name!r}{f'; did you mean {near}?' if near else ''}; --list-faults"


def broken_check(mutant: str, table: Mapping[str, str] = MUTANTS) -> str:
    """Return the id of the check that a mutant breaks."""
    return table[mutant].partition(":")[0]
