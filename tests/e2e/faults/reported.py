"""What the operator reports beside a workload: schemas in effect, and plans of preemption."""

from collections.abc import Iterator

from tests.e2e.faults.setup import FaultSetup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for

VICTIM, URGENT = "victim", "urgent"
PRIORITY = 1000


class Reported:
    """A DriverConfigSchema that changes, and a pod that a preemption would give its device.

    The pod waits for the only device of a driver of its own, in a namespace of its own.

    Args:
        setup: With its workload.
    """

    def __init__(self, setup: FaultSetup) -> None:
        self._plane = setup.plane
        self._api = setup.api
        self._insist = setup.workload.insist
        self._beside = setup.namespace
        self._name = f"{setup.namespace}-full"
        self._driver = f"{self._name}.example.com"
        self._mode = "Enforce"

    def prepare(self) -> None:
        """Create the schema, then a pod that takes the device, and one of a higher priority."""
        plane, api, name = self._plane, self._api, self._name
        api.create(
            {
                "apiVersion": "dragoman.dev/v1alpha1",
                "kind": "DriverConfigSchema",
                "metadata": {"name": name},
                "spec": {
                    "driver": self._driver,
                    "mode": self._mode,
                    "configs": [{"schema": {"openAPIV3Schema": {"type": "object"}}}],
                },
            }
        )
        api.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": PRIORITY,
            }
        )
        plane.add_node(name, 1, self._driver)
        api.create(plane.served(objects.device_class(name, self._driver)))
        api.create(objects.namespace(name))
        api.create(plane.served(objects.template("gpu", name, name)))
        uses = {"gpu": "gpu"}
        api.create(objects.pod(VICTIM, name, templates=uses))
        wait_for(lambda: api.get("pods", VICTIM, name)["spec"].get("nodeName"))
        api.create(objects.pod(URGENT, name, templates=uses, priorityClassName=name))

    def change(self) -> None:
        """Change the schema, so that it is compiled again."""
        self._mode = "Warn" if self._mode == "Enforce" else "Enforce"
        body = {"spec": {"mode": self._mode}}
        self._insist(lambda: self._api.patch("driverconfigschemas", self._name, None, body))

    def end(self) -> None:
        """Delete what `prepare` has made."""
        self._insist(lambda: self._plane.clear_namespace(self._name))
        self._insist(lambda: self._plane.remove_node(self._name, self._driver))
        for plural in ("driverconfigschemas", "priorityclasses", "deviceclasses"):
            self._insist(lambda plural=plural: self._api.delete(plural, self._name))  # type: ignore[misc]

    def differences(self) -> Iterator[str]:
        """Return a sentence for each object that is not as it must be."""
        yield from self._about_schema()
        # Pods of the workload have no priority: none of them may preempt.
        plans = [
            (one["spec"]["pod"]["name"], [victim["name"] for victim in one["spec"]["victims"]])
            for namespace in (self._name, self._beside)
            for one in self._api.list("devicepreemptions", namespace)
        ]
        if plans != [(URGENT, [VICTIM])]:
            yield f"DevicePreemptions name {plans}, not {VICTIM} for {URGENT}"

    def _about_schema(self) -> Iterator[str]:
        schema = self._api.get("driverconfigschemas", self._name)
        generation = schema["metadata"]["generation"]
        conditions: list[Json] = schema.get("status", {}).get("conditions", [])
        ready = [one for one in conditions if one["type"] == "Ready"]
        now = [(one["status"], one.get("observedGeneration")) for one in ready]
        if now != [("True", generation)]:
            yield f"the schema of generation {generation} has the conditions {ready}"
