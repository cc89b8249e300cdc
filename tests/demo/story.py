"""The story: a list of scenes, each with what must follow from it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dragoman.controllers.driverconfigschemas import catalogue
from tests.demo.picture import Picture, Row, State
from tests.demo.stage import NAMESPACE, Stage

CLAIMS, CONFIGS = "examples/claims", "examples/configs"
CLUSTER_TEMPLATES = "examples/cluster-templates"
BEFORE = f"{CONFIGS}/bad-template.yaml"
"""What is applied before dragoman is there."""
SHARED, CORRECTED = "shared-gpu", "shared-by-mps"
DEVICES = 8
DRIVERS = tuple(sorted(schema["metadata"]["name"] for schema in catalogue.schemas()))
"""Whose configs are checked: all that the catalogue knows."""
WRONG_BEFORE = "compute-domain.nvidia.com"
"""Whose config is wrong in what is applied before dragoman is there."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A part of the story.

    Attributes:
        title: One line that says what it shows.
        play: Does something on the stage, and expects what follows.
    """

    title: str
    play: Callable[[Stage], None]


def hardware(stage: Stage) -> None:
    """Publish nodes and devices."""
    stage.plug_in()
    stage.expect("8 devices published, all of them free", is_idle)


def batch(stage: Stage) -> None:
    """Give each of seven pods a claim from one template."""
    stage.apply(f"{CLAIMS}/batch.yaml")
    stage.expect("7 claims made, one for each pod", lambda seen: len(seen.claims) == 7)
    seen = stage.expect("7 devices allocated", lambda seen: seen.all_are(State.RUNNING, "batch", 7))
    stage.inside(seen.of("batch"))


def notebooks(stage: Stage) -> None:
    """Share one claim, made by hand, between three pods."""
    stage.apply(f"{CLAIMS}/notebooks.yaml")
    stage.expect(
        "3 pods share the device of one claim that a person made",
        lambda seen: (
            seen.all_are(State.RUNNING, "notebook", 3)
            and {row.users for row in seen.of("notebook")} == {3}
            and seen.held == DEVICES
        ),
    )


def trainer(stage: Stage) -> None:
    """Make two claims for one pod."""
    stage.apply(f"{CLAIMS}/trainer.yaml")
    stage.expect(
        "2 claims made; no device is free, so the pod waits",
        lambda seen: seen.all_are(State.NO_DEVICE, "trainer", 2),
    )


def viewer(stage: Stage) -> None:
    """Let a template come after its pod."""
    stage.apply(f"{CLAIMS}/viewer.yaml")
    why = partial(told, stage, "viewer", "FailedResourceClaimCreation")
    stage.expect(
        "the pod waits, and an Event says why",
        lambda seen: seen.all_are(State.NO_TEMPLATE, "viewer", 1) and bool(why()),
    )
    stage.quote(why())
    stage.pause(1.5)
    stage.apply(f"{CLAIMS}/viewer-template.yaml")
    stage.expect(
        "the template woke the pod: its claim is made",
        lambda seen: seen.all_are(State.NO_DEVICE, "viewer", 1),
    )


def handover(stage: Stage) -> None:
    """Let three pods of one node finish; those that wait take their devices."""
    pods = three_of_one_node(stage.look())
    stage.finish(*pods)
    stage.expect(
        "their claims are released and deleted",
        lambda seen: all(
            row.state is State.FINISHED and not row.claim for row in named(seen, pods)
        ),
    )
    stage.expect(
        "trainer and viewer have taken the devices",
        lambda seen: (
            seen.all_are(State.RUNNING, "trainer", 2)
            and seen.all_are(State.RUNNING, "viewer", 1)
            and seen.held == DEVICES
        ),
    )


def ending(stage: Stage) -> None:
    """Let everything finish, the users of the shared claim one by one."""
    stage.finish("notebook-1", "notebook-2")
    stage.expect(
        f"{SHARED} keeps its device for its last user",
        lambda seen: [row.users for row in seen.of("notebook-3")] == [1] and seen.held == DEVICES,
    )
    stage.pause(1.0)
    rest = {row.pod for row in stage.look().rows if row.state is State.RUNNING}
    stage.finish(*sorted(rest))
    stage.expect(
        f"all devices are free, and of the claims only {SHARED} is left",
        lambda seen: is_idle(seen) and seen.claims == (SHARED,),
    )


def copies(stage: Stage) -> None:
    """Keep a copy of one template in each namespace that it selects."""
    stage.apply(f"{CLUSTER_TEMPLATES}/one-nic.yaml")
    stage.apply(f"{CLUSTER_TEMPLATES}/namespaces.yaml")
    stage.expect(
        "team-a and team-b have a copy, team-c has none",
        lambda _: copied(stage) == ["team-a", "team-b"],
    )
    stage.kubectl("label", "namespace", "team-b", "nic-")
    stage.expect("team-b lost its label and its copy", lambda _: copied(stage) == ["team-a"])
    stage.show(*stage.kubectl("get", "clusterresourceclaimtemplates").stdout.splitlines())


def door(stage: Stage) -> None:
    """Apply driver configs, wrong ones and a right one."""
    stage.expect(f"{len(DRIVERS)} schemas of the catalogue are in force", lambda _: in_force(stage))
    parameters = "config[0].opaque.parameters"
    stage.refuse(f"{CONFIGS}/mistyped.yaml", f"spec.devices.{parameters}.sharing.strategy")
    stage.apply(f"{CONFIGS}/corrected.yaml")
    stage.expect("the corrected claim passes", lambda seen: CORRECTED in seen.claims)
    stage.refuse(f"{CONFIGS}/bad-class.yaml", f"spec.{parameters}.mode")


def audit(stage: Stage) -> None:
    """Show what the audit found: the template that was stored before anybody checked."""
    name = "channel"
    why = partial(told, stage, name, "DriverConfigInvalid")
    stage.note(f"{BEFORE} was applied before dragoman came")
    stage.expect("the audit has found it, and an Event says why", lambda _: bool(why()))
    stage.quote(why())
    stage.show(*stage.kubectl("get", "driverconfigschemas", WRONG_BEFORE).stdout.splitlines())


SCENES = (
    Scene("Two nodes, eight devices", hardware),
    Scene("One template, seven pods", batch),
    Scene("One claim, three pods", notebooks),
    Scene("One pod, two claims", trainer),
    Scene("A template that comes late", viewer),
    Scene("Pods finish, others take their devices", handover),
    Scene("The last one gives everything back", ending),
    Scene("One template for many namespaces", copies),
    Scene("Driver configs are checked at the door", door),
    Scene("What was there before is found", audit),
)


def is_idle(seen: Picture) -> bool:
    """Whether all devices are there and free."""
    return len(seen.devices) == DEVICES and seen.held == 0


def named(seen: Picture, pods: tuple[str, ...]) -> list[Row]:
    """Return the rows of exactly these pods."""
    return [row for row in seen.rows if row.pod in pods]


def three_of_one_node(seen: Picture) -> tuple[str, ...]:
    """Choose batch pods whose devices suffice for the two of one pod: they must be on one node."""
    rows = [row for row in seen.of("batch") if row.state is State.RUNNING]
    node, _ = Counter(row.node for row in rows).most_common(1)[0]
    return tuple(row.pod for row in rows if row.node == node)[:3]


def in_force(stage: Stage) -> bool:
    """Whether the schemas of all drivers are applied and compiled."""
    schemas = stage.plane.api().list("driverconfigschemas")
    ready = [
        schema
        for schema in schemas
        for condition in schema.get("status", {}).get("conditions", ())
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]
    return len(ready) == len(DRIVERS)


def copied(stage: Stage) -> list[str]:
    """Return the namespaces with a copy of a ClusterResourceClaimTemplate."""
    copies_of = stage.plane.api().list(
        "resourceclaimtemplates", labelSelector="dragoman.dev/cluster-template"
    )
    return sorted(one["metadata"]["namespace"] for one in copies_of)


def told(stage: Stage, name: str, reason: str) -> str:
    """Return what the operator's Event says about an object, or nothing yet."""
    return next(
        (
            event["message"]
            for event in stage.plane.api().list("events", NAMESPACE)
            if (event["involvedObject"]["name"], event["reason"]) == (name, reason)
        ),
        "",
    )
