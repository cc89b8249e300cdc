"""Which checks fail beside the one that a fault breaks, and why."""

ANY = "*"
"""Stands for every check that is run after it."""
FOLLOWS: dict[str, dict[str, str]] = {
    "upper-case": {ANY: "the API server stores no such slice"},
    "always-healthy": dict.fromkeys(("H1", "P16", "S9"), "no failed device is ever reported"),
    "reads-secrets": {"X3": "what it may not read is refused"},
    "other-name": {"R8": "no slices of the name that it registers by are ever complete"},
    "early-registration": dict.fromkeys(
        ("R3", "R4", "R6", "R7", "R8"), "the kubelet calls a service that is not there yet"
    ),
    "stale-socket": {ANY: "after the SIGKILL of R8 it never starts again"},
    "single-instance": dict.fromkeys(("I6", "S19"), "there is no second instance"),
    "wipes-at-exit": dict.fromkeys(("R11", "S19"), "no slice is left for the second instance"),
    "all-drivers": {"P4": "devices of another driver are prepared as its own"},
    "bad-cdi-id": dict.fromkeys(("A1", "A3", "C1", "U5"), "no document defines such an id"),
    "any-config": dict.fromkeys(("P11", "P14"), "nothing is wrong with any config"),
    "changes-first": {"C2": "what it writes before the refusal is written in place"},
    "no-entry": {ANY: "no unprepare is answered"},
    "leaves-documents": dict.fromkeys(
        ("K10", "U4", "U6", "U7"), "an unprepare leaves what it should remove"
    ),
    "needs-prepared": dict.fromkeys(
        ("A4", "P11", "X5"), "claims that were refused are unprepared there too"
    ),
    "needs-object": {ANY: "the device of a claim that was deleted stays in use"},
    "keeps-deleted": {ANY: "the device of a claim that was deleted stays in use"},
    "frees-on-failure": {"U7": "the claim is forgotten, and its files stay"},
    "answers-differ": dict.fromkeys(("I2", "I5"), "ids of its answers are defined nowhere"),
    "races": dict.fromkeys(("I1", "I5"), "ids of its answers are defined nowhere"),
    "one-at-a-time": {"I2": "seven of eight callers are refused"},
    "late-document": dict.fromkeys(
        ("A1", "A3", "U5", "U7"), "documents are read before they are there, or come back"
    ),
    "bad-document": dict.fromkeys(
        ("A1", "A3", "C1", "U5"), "a document without kind defines no id"
    ),
    "shared-names": dict.fromkeys(
        ("A1", "A3", "C5", "I5"), "documents of two claims define one device"
    ),
    "once": {"S2": "slices that S6 deleted are gone"},
    "ignores-loss": dict.fromkeys(("H4", "P16"), "its slices follow no change of a device"),
    "admin-takes": {"A2": "the device is in use before the config is looked at"},
    "empty-devices": dict.fromkeys(
        ("S1", "S12"), "the slice of counters is rejected, and the pool stays incomplete"
    ),
    "conflict": {"C2": "the second document is written in place"},
}
