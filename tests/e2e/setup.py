"""A namespace in which a test plays, and what the operator wrote there."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

NO_CLASS = "no-such-class.example.com"
"""A DeviceClass that does not exist: its claims are never allocated, their pods stay Pending."""
ANNOTATION = "resource.kubernetes.io/pod-claim-name"
PROTECTION = "resource.kubernetes.io/delete-protection"
QUIET = 0.6


class Setup:
    """One namespace, the manifests that people apply in it, and one user's writes.

    Args:
        plane: The control plane.
        namespace: Fresh, and cleared by whoever made it.
        user: Whose writes are counted.
        folder: Where manifests are written before kubectl applies them.
    """

    def __init__(self, plane: ControlPlane, namespace: str, user: str, folder: Path) -> None:
        self.plane = plane
        self.api = plane.api()
        self.namespace = namespace
        self.user = user
        self._folder = folder
        self._applied = 0
        self._classes: list[str] = []
        self._since = plane.audit.mark()

    # What people do ---------------------------------------------------------------------------

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply manifests, one after the other."""
        for one in manifests:
            self.api.apply(self.plane.served(one))

    def apply_file(self, *manifests: Mapping[str, Any]) -> None:
        """Write manifests to a file and `kubectl apply` it."""
        self._applied += 1
        path = self._folder / f"{self._applied}.yaml"
        path.write_text(yaml.safe_dump_all(self.plane.served(one) for one in manifests))
        self.plane.kubectl("apply", "-f", str(path))

    def template(self, name: str = "template", device_class: str = NO_CLASS, **more: Any) -> Json:
        """Return a template of this namespace."""
        return objects.template(name, self.namespace, device_class, **more)

    def pod(self, name: str = "pod", **more: Any) -> Json:
        """Return a pod; without `templates` and `claims` it has entry `a` from `template`."""
        if not {"templates", "claims"} & more.keys():
            more["templates"] = {"a": "template"}
        return objects.pod(name, self.namespace, **more)

    def claim(self, name: str = "shared", device_class: str = NO_CLASS, **more: Any) -> Json:
        """Return a claim as users make them."""
        return objects.claim(name, self.namespace, device_class, **more)

    def devices(self, count: int = 1) -> str:
        """Add a node with devices of an own driver; returns their DeviceClass."""
        name = f"{self.namespace}-{len(self._classes)}"
        driver = f"{name}.example.com"
        self.plane.add_node(name, count, driver)
        self.api.create(self.plane.served(objects.device_class(name, driver)))
        self._classes.append(name)
        return name

    def finish(self, *pods: str, phase: str = "Succeeded") -> None:
        """Let pods come to their end, as the kubelet would."""
        self.api.in_parallel(lambda pod: self.plane.finish_pod(self.namespace, pod, phase), pods)

    def delete_pods(self, *pods: str) -> None:
        """Let pods vanish."""
        self.api.in_parallel(lambda pod: self.plane.delete_pod(self.namespace, pod), pods)

    def label(self, resource: str, name: str, value: str) -> None:
        """Change something about an object that means nothing."""
        body = {"metadata": {"labels": {"touched": value}}}
        self.api.patch(resource, name, self.namespace, body)

    def clear(self) -> None:
        """Remove everything, however busy the operator is with the same claims."""

        def cleared() -> bool:
            self.plane.clear_namespace(self.namespace)
            return True

        wait_for(cleared, message=f"namespace {self.namespace} to be cleared")
        for name in self._classes:
            self.plane.remove_node(name, f"{name}.example.com")
            self.api.delete("deviceclasses", name)

    # What is there ----------------------------------------------------------------------------

    def get(self, resource: str, name: str) -> Json:
        """Read one object of the namespace."""
        return self.api.get(resource, name, self.namespace)

    def claims(self) -> dict[str, Json]:
        """Return the claims by name."""
        listed = self.api.list("resourceclaims", self.namespace)
        return {one["metadata"]["name"]: one for one in listed}

    def statuses(self, pod: str = "pod") -> dict[str, str | None]:
        """Return what the pod's status says: claim names by entry."""
        status = self.get("pods", pod)["status"]
        listed = status.get("resourceClaimStatuses") or []
        return {one["name"]: one.get("resourceClaimName") for one in listed}

    def consumers(self, claim: str) -> list[str]:
        """Return the names in `reservedFor`, in their order."""
        reserved = self.get("resourceclaims", claim).get("status", {}).get("reservedFor")
        return [one["name"] for one in reserved or []]

    def allocated(self, claim: str) -> bool:
        """Whether the claim has devices."""
        return bool(self.get("resourceclaims", claim).get("status", {}).get("allocation"))

    def node_of(self, pod: str) -> str:
        """Return the name of the pod's node, empty while it has none."""
        return str(self.get("pods", pod)["spec"].get("nodeName", ""))

    def events(self, reason: str = "FailedResourceClaimCreation") -> list[Json]:
        """Return the operator's Events of a reason."""
        listed = self.api.list("events.events.k8s.io", self.namespace)
        return [
            one
            for one in listed
            if one["reason"] == reason and one["reportingController"] == "dragoman"
        ]

    # Waiting ----------------------------------------------------------------------------------

    def published(self, pod: str = "pod", entries: Sequence[str] = ("a",)) -> dict[str, str]:
        """Wait until the status names claims for these entries; returns them all."""

        def named() -> dict[str, str] | None:
            found = {key: name for key, name in self.statuses(pod).items() if name}
            return found if set(entries) <= found.keys() else None

        return wait_for(named, message=f"status of pod {pod} to name claims of {entries}")

    def claim_of(self, pod: str, entry: str = "a") -> Json:
        """Wait until the status names a claim for the entry; returns the claim."""
        return self.get("resourceclaims", self.published(pod, [entry])[entry])

    def reserved(self, claim: str, *pods: str) -> None:
        """Wait until exactly these are in `reservedFor`."""
        wait_for(
            lambda: sorted(self.consumers(claim)) == sorted(pods),
            message=f"claim {claim} to be reserved for {pods}",
        )

    def scheduled(self, claim: str, *pods: str) -> None:
        """Wait until the scheduler has reserved the claim for the pods and bound them to nodes."""
        self.reserved(claim, *pods)
        for pod in pods:
            wait_for(partial(self.node_of, pod), message=f"pod {pod} to be scheduled")

    def replaced(self, claim: Json, pod: str = "pod", entry: str = "a") -> Json:
        """Wait until a pod's status names another claim than this deleted one; returns it."""

        def another() -> Json | None:
            name = self.statuses(pod).get(entry)
            found = self.api.find("resourceclaims", name, self.namespace) if name else None
            is_new = found is not None and found["metadata"]["uid"] != claim["metadata"]["uid"]
            return found if is_new else None

        return wait_for(another, message=f"pod {pod} to have another claim for {entry}")

    def gone(self, claim: str, timeout: float = 60) -> None:
        """Wait until a claim does not exist."""
        wait_for(
            lambda: self.api.find("resourceclaims", claim, self.namespace) is None,
            timeout,
            message=f"claim {claim} to be deleted",
        )

    def event(self, reason: str = "FailedResourceClaimCreation", count: int = 1) -> list[Json]:
        """Wait until the operator has told about something so often; returns the Events."""
        return wait_for(
            lambda: found if len(found := self.events(reason)) >= count else None,
            message=f"{count} Events {reason}",
        )

    # Counting ---------------------------------------------------------------------------------

    def forget(self) -> None:
        """Count only what is written from now on, when the present work is done."""
        self.plane.audit.settled(self.user, QUIET)
        self._since = self.plane.audit.mark()

    def writes(self, *, refused: bool | None = False) -> Counter[str]:
        """Wait until the operator is quiet, and return what it wrote in this namespace."""
        self.plane.audit.settled(self.user, QUIET)
        return self.counts(refused=refused)

    def wrote(
        self, expected: Mapping[str, int], *, refused: bool | None = False, others: bool = False
    ) -> None:
        """Wait until the operator has written this in the namespace, and no more when it is quiet.

        Args:
            expected: Counts of writes by kind.
            refused: Accepted writes (False), refused ones (True), or both (None).
            others: Whether there may be writes of further kinds.

        Raises:
            AssertionError: It wrote something else.
        """

        def missing() -> Counter[str]:
            return Counter(expected) - self.counts(refused=refused)

        with suppress(TimeoutError):  # the comparison says more
            wait_for(lambda: not missing(), 30)
        found = self.writes(refused=refused)
        compared = {kind: found[kind] for kind in expected} if others else dict(found)
        if compared != expected:
            raise AssertionError(f"the operator wrote {dict(found)}, not {dict(expected)}")

    def counts(self, *, refused: bool | None = False) -> Counter[str]:
        """Return what the operator has written in this namespace so far."""
        return self.plane.audit.counts(
            self.user, self._since, namespace=self.namespace, refused=refused
        )

    def seen(self) -> None:
        """Wait until the operator has seen every pod and every claim that was changed before.

        Each of its watches keeps the order: what comes last is seen last. Here this is a pod, and
        the claim that it has been waiting for.
        """
        last = f"seen-{self._applied}-{self.plane.audit.mark()}"
        elsewhere = self.plane.create_namespace("elsewhere")
        pod = objects.pod(last, elsewhere, templates={"a": "none"})
        owner = objects.owner_reference({**pod, **self.api.create(pod)})
        claim = objects.claim(
            last, elsewhere, NO_CLASS, annotations={ANNOTATION: "a"}, ownerReferences=[owner]
        )
        self.api.create(self.plane.served(claim))
        wait_for(
            lambda: self.api.get("pods", last, elsewhere)["status"].get("resourceClaimStatuses"),
            message="the operator to be done with what came before",
        )
        self.plane.clear_namespace(elsewhere)

    def try_patch(self, resource: str, name: str, body: Json, subresource: str = "") -> bool:
        """Patch an object as administrator; False when somebody else was faster."""
        try:
            self.api.patch(resource, name, self.namespace, body, subresource=subresource)
        except ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    def order(self) -> list[str]:
        """Wait until the operator is quiet, and return what it wrote, in that order."""
        self.plane.audit.settled(self.user, QUIET)
        return [
            write.what
            for write in self.plane.audit.writes(self.user, self._since, namespace=self.namespace)
        ]
