"""The steps of the demo, each with what must follow from it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dragoman_configs import catalog
from tests.demo.overview import Overview, Row, State
from tests.demo.session import NAMESPACE, Session

CLAIMS, CONFIGS = "examples/claims", "examples/configs"
CLUSTER_TEMPLATES = "examples/cluster-templates"
BEFORE = f"{CONFIGS}/bad-template.yaml"
"""What is applied before dragoman is there."""
SHARED, CORRECTED = "shared-gpu", "shared-by-mps"
DEVICES = 8
DRIVERS = tuple(sorted(schema["metadata"]["name"] for schema in catalog.schemas()))
"""Whose configs are checked: all that the catalog knows."""
WRONG = (f"{CONFIGS}/mistyped.yaml", f"{CONFIGS}/bad-class.yaml")
"""What the webhook refuses."""
WRONG_BEFORE = "compute-domain.nvidia.com"
"""Whose config is wrong in what is applied before dragoman is there."""


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the demo.

    Attributes:
        title: One line that says what it shows.
        play: Does something in the session, and expects what follows.
    """

    title: str
    play: Callable[[Session], None]


def hardware(session: Session) -> None:
    """Publish nodes and devices."""
    session.publish_devices()
    session.expect("8 devices published, all of them free", is_idle)


def batch(session: Session) -> None:
    """Give each of seven pods a claim from one template."""
    session.apply(f"{CLAIMS}/batch.yaml")
    session.expect(
        "7 claims made, one for each pod",
        lambda seen: len(seen.of("batch")) == 7 and all(row.claim for row in seen.of("batch")),
    )
    seen = session.expect(
        "7 devices allocated", lambda seen: seen.all_are(State.RUNNING, "batch", 7)
    )
    session.inside(seen.of("batch"))


def notebooks(session: Session) -> None:
    """Share one claim, made by hand, between three pods."""
    session.apply(f"{CLAIMS}/notebooks.yaml")
    session.expect(
        "3 pods share the device of one claim created by a user",
        lambda seen: (
            seen.all_are(State.RUNNING, "notebook", 3)
            and {row.users for row in seen.of("notebook")} == {3}
            and seen.held == DEVICES
        ),
    )


def trainer(session: Session) -> None:
    """Make two claims for one pod."""
    session.apply(f"{CLAIMS}/trainer.yaml")
    session.expect(
        "2 claims made; no device is free, so the pod waits",
        lambda seen: seen.all_are(State.NO_DEVICE, "trainer", 2),
    )
    session.explain("trainer", "fits on none of the 2 nodes", "in use")


def viewer(session: Session) -> None:
    """Let a template come after its pod."""
    session.apply(f"{CLAIMS}/viewer.yaml")
    why = partial(told, session, "viewer", "FailedResourceClaimCreation")
    session.expect(
        "the pod waits, and an Event says why",
        lambda seen: seen.all_are(State.NO_TEMPLATE, "viewer", 1) and bool(why()),
    )
    session.quote(why())
    session.pause(1.5)
    session.apply(f"{CLAIMS}/viewer-template.yaml")
    session.expect(
        "the template woke the pod: its claim is made",
        lambda seen: seen.all_are(State.NO_DEVICE, "viewer", 1),
    )


def handover(session: Session) -> None:
    """Let three pods of one node finish; those that wait take their devices."""
    pods = three_of_one_node(session.look())
    session.finish(*pods)
    session.expect(
        "their claims are released and deleted",
        lambda seen: all(
            row.state is State.FINISHED and not row.claim for row in named(seen, pods)
        ),
    )
    session.expect(
        "trainer and viewer have taken the devices",
        lambda seen: (
            seen.all_are(State.RUNNING, "trainer", 2)
            and seen.all_are(State.RUNNING, "viewer", 1)
            and seen.held == DEVICES
        ),
    )


def ending(session: Session) -> None:
    """Let everything finish, the users of the shared claim one by one."""
    session.finish("notebook-1", "notebook-2")
    session.expect(
        f"{SHARED} keeps its device for its last user",
        lambda seen: [row.users for row in seen.of("notebook-3")] == [1] and seen.held == DEVICES,
    )
    session.pause(1.0)
    rest = {row.pod for row in session.look().rows if row.state is State.RUNNING}
    session.finish(*sorted(rest))
    session.expect(
        "all devices are free, and only the claim created by a user is left",
        lambda seen: is_idle(seen) and seen.claims == (SHARED,),
    )


def copies(session: Session) -> None:
    """Keep a copy of one template in each namespace that it selects."""
    session.apply(f"{CLUSTER_TEMPLATES}/one-nic.yaml")
    session.apply(f"{CLUSTER_TEMPLATES}/namespaces.yaml")
    session.expect(
        "team-a and team-b have a copy, team-c has none",
        lambda _: copied(session) == ["team-a", "team-b"],
    )
    session.kubectl("label", "namespace", "team-b", "nic-")
    session.expect(
        "team-b lost its label and its copy, and the status says so",
        lambda _: copied(session) == ["team-a"] and counted(session) == 1,
    )
    session.show(*session.kubectl("get", "clusterresourceclaimtemplates").stdout.splitlines())


def driver_configs(session: Session) -> None:
    """Apply driver configs, wrong ones and a right one."""
    session.expect(
        f"{len(DRIVERS)} schemas of the catalog are in force",
        lambda _: in_force(session) and all(denied(session, file) for file in WRONG),
    )
    parameters = "config[0].opaque.parameters"
    mistyped, bad_class = WRONG
    session.refuse(mistyped, f"spec.devices.{parameters}.sharing.strategy")
    session.apply(f"{CONFIGS}/corrected.yaml")
    session.expect("the corrected claim passes", lambda seen: CORRECTED in seen.claims)
    session.refuse(bad_class, f"spec.{parameters}.mode")
    # The quickstart, which goes on from here with KEEP=1, sees the claim refused and created again.
    session.kubectl("delete", "-f", f"{CONFIGS}/corrected.yaml")


def audit(session: Session) -> None:
    """Show what the audit found: the template that was stored before anybody checked."""
    name = "channel"
    why = partial(told, session, name, "DriverConfigInvalid")
    session.note(f"{BEFORE} was applied before dragoman came")
    session.expect(
        "the audit has found it, and an Event says why",
        lambda _: bool(why()) and violations(session, WRONG_BEFORE) == 1,
    )
    session.quote(why())
    session.show(*session.kubectl("get", "driverconfigschemas", WRONG_BEFORE).stdout.splitlines())


STEPS = (
    Step("A driver config with a typo is rejected", driver_configs),
    Step("Two nodes, eight devices", hardware),
    Step("One template, seven pods", batch),
    Step("One claim, three pods", notebooks),
    Step("A pod waits, and explain says why", trainer),
    Step("A template that comes late", viewer),
    Step("Pods finish, others take their devices", handover),
    Step("The last pods release their devices", ending),
    Step("One template for many namespaces", copies),
    Step("The audit finds what was stored before", audit),
)


def is_idle(seen: Overview) -> bool:
    """Whether all devices are there and free."""
    return len(seen.devices) == DEVICES and seen.held == 0


def named(seen: Overview, pods: tuple[str, ...]) -> list[Row]:
    """Return the rows of exactly these pods."""
    return [row for row in seen.rows if row.pod in pods]


def three_of_one_node(seen: Overview) -> tuple[str, ...]:
    """Choose batch pods whose devices suffice for the two of one pod: they must be on one node."""
    rows = [row for row in seen.of("batch") if row.state is State.RUNNING]
    node, _ = Counter(row.node for row in rows).most_common(1)[0]
    return tuple(row.pod for row in rows if row.node == node)[:3]


def in_force(session: Session) -> bool:
    """Whether the schemas of all drivers are applied and compiled."""
    schemas = session.plane.api().list("driverconfigschemas")
    ready = [
        schema
        for schema in schemas
        for condition in schema.get("status", {}).get("conditions", ())
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]
    return len(ready) == len(DRIVERS)


def denied(session: Session, file: str) -> bool:
    """Whether a dry run is refused: the webhook has schemas and certificate a moment later."""
    options = ("apply", "--dry-run=server", "-f", file)
    said = session.plane.kubectl(*options, check=False).stderr
    return " is invalid: " in said


def violations(session: Session, schema: str) -> int:
    """Return how many wrong configs the audit has counted for a schema."""
    status = session.plane.api().get("driverconfigschemas", schema).get("status", {})
    return int(status.get("audit", {}).get("violations", 0))


def copied(session: Session) -> list[str]:
    """Return the namespaces with a copy of a ClusterResourceClaimTemplate."""
    copies_of = session.plane.api().list(
        "resourceclaimtemplates", labelSelector="dragoman.dev/cluster-template"
    )
    return sorted(one["metadata"]["namespace"] for one in copies_of)


def counted(session: Session) -> int:
    """Return the namespaces of a ClusterResourceClaimTemplate by its status."""
    (template,) = session.plane.api().list("clusterresourceclaimtemplates")
    return int(template.get("status", {}).get("namespaces", 0))


def told(session: Session, name: str, reason: str) -> str:
    """Return what the operator's Event says about an object, or nothing yet."""
    return next(
        (
            event["message"]
            for event in session.plane.api().list("events", NAMESPACE)
            if (event["involvedObject"].get("name"), event["reason"]) == (name, reason)
        ),
        "",
    )
