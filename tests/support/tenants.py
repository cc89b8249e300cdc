"""Tenants: users with rights in one namespace, who try to harm others from there."""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Self

from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane

RBAC = "rbac.authorization.k8s.io"
EDIT = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceclaimtemplates"],
        "verbs": ["*"],
    },
)
"""What `edit` usually allows in a namespace; the status of a pod is not part of it."""


def tenant(plane: ControlPlane, namespace: str, rules: Iterable[Mapping[str, Any]] = EDIT) -> Api:
    """Return a client of a user that has these rules in one namespace, and none elsewhere."""
    rules = list(rules)
    name = f"tenant-{namespace}"
    metadata = {"name": name, "namespace": namespace}
    common = {"apiVersion": f"{RBAC}/v1", "metadata": metadata}
    admin = plane.api()
    admin.apply({**common, "kind": "Role", "rules": rules})
    admin.apply(
        {
            **common,
            "kind": "RoleBinding",
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name}],
        }
    )
    api = plane.api(plane.user(name))
    wait_for(partial(allows, api, namespace, rules[0]), 60, f"{name} to be granted {rules}")
    return api


def allows(api: Api, namespace: str, rule: Mapping[str, Any]) -> bool:
    """Whether the API server acts on a rule that its client was given."""
    attributes = {
        "namespace": namespace,
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0],
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    return bool(api.create(review)["status"]["allowed"])


class Repeatedly(AbstractContextManager["Repeatedly"]):
    """Does something again and again in a thread, until the block ends.

    Args:
        act: Called with 0, 1, 2, …; an ApiError is part of the game.
        every: Seconds between two calls.

    Attributes:
        done: How often it was done.
    """

    def __init__(self, act: Callable[[int], object], every: float) -> None:
        self.done = 0
        self._act, self._every = act, every
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin, and return when it was done once."""
        self._once()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; raise what went wrong in the thread."""
        self._ending.set()
        self._thread.join(30)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._ending.wait(self._every):
                self._once()
        except Exception as failure:  # noqa: BLE001 — raised where the block ends
            self._failure = failure

    def _once(self) -> None:
        try:
            self._act(self.done)
        except ApiError as error:
            if error.code not in {404, 409, 422, 429}:
                raise
        self.done += 1
