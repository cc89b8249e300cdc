"""Measure which faults of the built-in claim controller each Kubernetes version has.

`make test-faults` (VERSIONS="v1.34.4 v1.37.2" FAULTS="late crash") runs the
kube-controller-manager of each version alone in
the situations of `SITUATIONS`, and replaces the columns of these versions in the table of
docs/comparison.md.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane
from tests.versions.__main__ import ROOT, listed, versions

RECORD, PAGE = ROOT / "docs/bench/faults.json", ROOT / "docs/comparison.md"
BEGIN, END = "<!-- faults:begin -->", "<!-- faults:end -->"
CLASS, TEMPLATE = "no-such-class.example.com", "template"
ENOUGH = 15.0
"""Seconds after which an unthrottled controller without other work is not late, but idle."""
FINISHED_PODS = 160
UNPUBLISHABLE = "node-agent-ip-10-0-12-34.us-west-2.compute.internal.abcde"
"""Its claim's name, cut to 63 characters by the built-in controller, has a dot at the cut."""


@dataclass(frozen=True, slots=True)
class World:
    """One namespace beside a running built-in controller.

    Attributes:
        plane: The control plane.
        namespace: Fresh, with a template.
    """

    plane: ControlPlane
    namespace: str

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.plane.api()

    def pod(self, name: str = "pod", **entries: str) -> Json:
        """Create a pod with entries by template name; entry `a` from the template by default."""
        templates = entries or {"a": TEMPLATE}
        return self.api.create(objects.pod(name, self.namespace, templates=templates))

    def template(self, name: str = TEMPLATE) -> None:
        """Create a template."""
        self.api.create(self.plane.served(objects.template(name, self.namespace, CLASS)))

    def statuses(self, name: str = "pod") -> dict[str, str | None]:
        """Return claim names by entry, as the pod's status has them."""
        status = self.api.get("pods", name, self.namespace)["status"]
        listed = status.get("resourceClaimStatuses") or []
        return {one["name"]: one.get("resourceClaimName") for one in listed}

    def claims(self) -> dict[str, Json]:
        """Return the claims by UID."""
        listed = self.api.list("resourceclaims", self.namespace)
        return {one["metadata"]["uid"]: one for one in listed}

    def published(self, name: str = "pod", entry: str = "a", seconds: float = 60) -> bool:
        """Whether the status names a claim for an entry in time."""
        return becomes(lambda: self.statuses(name).get(entry) is not None, seconds)


def becomes(true: Callable[[], bool], seconds: float = ENOUGH) -> bool:
    """Whether something becomes true in time."""
    try:
        wait_for(true, seconds, every=0.02)
    except TimeoutError:
        return False
    return True


def finished_pods(world: World) -> bool:
    """Finish pods that stay as objects; claims that are created after that are the fault."""
    names = [f"pod-{number}" for number in range(FINISHED_PODS)]
    world.api.in_parallel(world.pod, names)
    if not all(world.published(name) for name in names):
        raise RuntimeError("the pods got no claims")
    before = world.claims()
    finish = world.plane.finish_pod
    world.api.in_parallel(lambda name: finish(world.namespace, name), names)
    return becomes(lambda: bool(world.claims().keys() - before.keys()))


def missing_template(world: World) -> bool:
    """Let one of two templates be missing; that the other entry gets no claim is the fault."""
    world.pod(a=TEMPLATE, b="missing")
    return not world.published(seconds=ENOUGH)


def late_template(world: World) -> bool:
    """Create a template 25 s after its pod; that the pod then waits for a retry is the fault.

    Retries are due 20 and 41 s after the pod's creation, and twice as late each time.
    """
    world.pod(a="late")
    time.sleep(25)
    world.template("late")
    return not world.published(seconds=8)


def flapping(world: World) -> bool:
    """Delete one of three claims of a pod; that valid entries leave its status is the fault."""
    world.pod(a=TEMPLATE, b=TEMPLATE, c=TEMPLATE)
    if not all(world.published(entry=entry) for entry in "abc"):
        raise RuntimeError("the pod got no claims")
    world.api.delete("resourceclaims", str(world.statuses()["b"]), world.namespace)
    return becomes(lambda: not {"a", "c"} <= world.statuses().keys())


def invalid_name(world: World) -> bool:
    """Create a pod whose claim's name is cut at a dot; that it gets no claim is the fault."""
    world.pod(UNPUBLISHABLE, nic=TEMPLATE)
    return not world.published(UNPUBLISHABLE, "nic", ENOUGH)


def other_consumer(world: World) -> bool:
    """Share a claim with a consumer that is no pod; that a finished pod stays is the fault."""
    made = world.plane.served(objects.claim("shared", world.namespace, CLASS))
    world.api.create(made)
    pod = world.api.create(objects.pod("pod", world.namespace, claims={"a": "shared"}))
    meta = pod["metadata"]
    consumers = [
        {"resource": "pods", "name": meta["name"], "uid": meta["uid"]},
        {"apiGroup": "foo.com", "resource": "foo", "name": "bar", "uid": "some-uid"},
    ]
    status = {"allocation": {}, "reservedFor": consumers}
    patch = world.api.patch
    patch("resourceclaims", "shared", world.namespace, {"status": status}, subresource="status")
    world.plane.finish_pod(world.namespace, "pod")

    def removed() -> bool:
        claim = world.api.get("resourceclaims", "shared", world.namespace)
        return [one["name"] for one in claim["status"].get("reservedFor", ())] == ["bar"]

    return not becomes(removed)


def forge(world: World, pod: Json, namespace: str) -> None:
    """Create a claim in a namespace whose owner is, by its UID, a pod."""
    owner = objects.owner_reference(pod | {"apiVersion": "v1", "kind": "Pod"})
    forged = objects.claim(
        "evil",
        namespace,
        CLASS,
        annotations={"resource.kubernetes.io/pod-claim-name": "a"},
        ownerReferences=[owner | {"blockOwnerDeletion": False}],
    )
    world.api.create(world.plane.served(forged))


def other_namespace(world: World) -> bool:
    """Let a claim of another namespace name a pod; that the pod's status names it is the fault."""
    pod = world.pod(a="late")
    forge(world, pod, world.plane.create_namespace("other"))
    time.sleep(2)
    world.template("late")
    return becomes(lambda: world.statuses().get("a") == "evil")


def nil_pointer(world: World) -> bool:
    """Let a pod's status name a claim of another owner; that the process ends is the fault."""
    world.api.create(world.plane.served(objects.claim("others", world.namespace, CLASS)))
    world.pod()
    body = {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "others"}]}}
    world.api.patch("pods", "pod", world.namespace, body, subresource="status")
    process = world.plane.processes[CLAIM_CONTROLLER]
    if process.pid is not None:  # it may have given the pod a claim before: it ends at its start
        world.plane.restart(CLAIM_CONTROLLER)
    ended = becomes(lambda: process.pid is None, 20)
    return ended and "nil pointer dereference" in process.log.read_text()


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation in which some versions are at fault.

    Attributes:
        fault: What is wrong, as docs/comparison.md says it.
        happens: Whether it happens.
        gates: Feature gates that the situation needs.
    """

    fault: str
    happens: Callable[[World], bool]
    gates: tuple[str, ...] = ()


SITUATIONS = {
    "finished": Situation("creates claims again for finished pods that stay", finished_pods),
    "missing": Situation("one missing template keeps all claims of a pod back", missing_template),
    "late": Situation("a template that is created later does not wake its pods", late_template),
    "flapping": Situation("one deleted claim makes the other status entries flap", flapping),
    "name": Situation("a long pod name with dots gives an invalid claim name", invalid_name),
    "consumer": Situation("a consumer that is no pod keeps finished pods reserved", other_consumer),
    "namespace": Situation("publishes a claim of another namespace", other_namespace),
    "crash": Situation(
        "a status that names a claim of another owner ends the process",
        nil_pointer,
        ("GenericWorkload", "DRAWorkloadResourceClaims"),
    ),
}
POD_GROUPS = {"v1.36": "scheduling.k8s.io/v1alpha2", "v1.37": "scheduling.k8s.io/v1beta1"}
"""API version that the gates of the last situation need; older versions lack the gates."""


def measure(version: str, keys: Sequence[str]) -> dict[str, bool | None]:
    """Return by situation whether a version has the fault; None where it lacks the gates."""
    results: dict[str, bool | None] = {}
    for gates in sorted({SITUATIONS[key].gates for key in keys}):
        chosen = {key: SITUATIONS[key] for key in keys if SITUATIONS[key].gates == gates}
        served = POD_GROUPS.get(version.rpartition(".")[0])
        if gates and not served:
            results |= dict.fromkeys(chosen)
            continue
        with ControlPlane(
            version,
            feature_gates=dict.fromkeys(gates, True),
            runtime_config={served: True} if gates and served else None,
            audit=False,
        ) as plane:
            for key, situation in chosen.items():
                results[key] = happens(plane, situation)
                print(f"{version}: {situation.fault}: {results[key]}", flush=True)
    return results


def happens(plane: ControlPlane, situation: Situation) -> bool:
    """Run one situation in a fresh namespace beside a fresh controller."""
    world = World(plane, plane.create_namespace("fault"))
    world.template()
    plane.start_stock_controller(UNTHROTTLED)
    try:
        return situation.happens(world)
    finally:
        plane.stop_part(CLAIM_CONTROLLER)
        plane.clear_namespace(world.namespace)


Results = Mapping[str, Mapping[str, bool | None]]


def load() -> dict[str, dict[str, bool | None]]:
    """Read the recorded results by version."""
    found: dict[str, dict[str, bool | None]] = (
        json.loads(RECORD.read_text()) if RECORD.exists() else {}
    )
    return {version: found[version] for version in listed(found) if version in found}


def table(results: Results) -> str:
    """Return the table: a row for each fault, a column for each version."""
    words = {True: "yes", False: "no", None: "-"}
    lines = [f"| fault | {' | '.join(results)} |", "|---|" + "---|" * len(results)]
    for key, situation in SITUATIONS.items():
        cells = (words[found.get(key)] for found in results.values())
        lines.append(f"| {situation.fault} | {' | '.join(cells)} |")
    return "\n".join(lines)


def renewed(page: str, results: Results) -> str:
    """Return the page with the table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def main() -> int:
    """Measure the chosen versions."""
    chosen = os.environ.get("VERSIONS", "").split() or versions()
    keys = os.environ.get("FAULTS", "").split() or list(SITUATIONS)
    results: dict[str, dict[str, bool | None]] = {}
    for version in chosen:
        found = measure(version, keys)
        results = load()
        results |= {version: results.get(version, {}) | found}
        results = {one: results[one] for one in listed(results) if one in results}
        RECORD.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(renewed(PAGE.read_text(), results))
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
