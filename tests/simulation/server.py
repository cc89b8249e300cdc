"""A model of etcd and of the rules of the API server: what clients can observe, without sockets.

Sources: the API's concepts (resourceVersion, watch, bookmarks, 410); registry/generic/registry in
k8s.io/apiserver (preconditions, finalizers, deletion); pkg/registry/{core/pod,resource} of
Kubernetes (strategies); pkg/apis/resource/validation. tests/simulation/fidelity.py compares it
with a real API server.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.simulation.loop import EPOCH
from tests.simulation.objects import (
    API_OF,
    GENERATIONS,
    KIND_OF,
    STATUSLESS,
    TERMINAL,
    Json,
    Key,
    deleting,
    timestamp,
)
from tests.simulation.patches import merge, strategic
from tests.simulation.rules import Refusal, validate, validate_name

ORDER = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels"),
    *("annotations", "ownerReferences", "finalizers", "managedFields"),
)
"""Fields of metadata, as the API server writes them."""
SYSTEM = frozenset(
    {
        *("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
        *("namespace", "name", "generateName", "managedFields", "generation"),
    }
)
"""Fields of metadata that no update changes."""
BUILT_IN = "ResourceClaimController"


@dataclass(slots=True)
class Commit:
    """One change in etcd."""

    time: float
    rv: int
    plural: str
    kind: str  # ADDED, MODIFIED, DELETED
    key: Key
    new: Json
    old: Json | None
    actor: str  # Who did it
    verb: str
    _raw: bytes | None = None

    def line(self, kind: str = "") -> bytes:
        """Return the line of a watch."""
        if self._raw is None:
            self._raw = orjson.dumps(self.new)
        return b'{"type":"%s","object":%s}' % ((kind or self.kind).encode(), self._raw)


@dataclass
class Backup:
    """What a restored etcd has."""

    rv: int
    objects: dict[str, dict[Key, Json]]
    lengths: dict[str, int]


@dataclass
class Server:
    """etcd, and what every API server does with a write."""

    chance: random.Random  # Of UIDs, generated names and steps of the version
    clock: Callable[[], float] = lambda: 0.0  # Seconds since the beginning
    rv: int = 100
    objects: dict[str, dict[Key, Json]] = field(default_factory=dict)
    # Commits by plural, oldest first
    history: dict[str, list[Commit]] = field(default_factory=dict)
    # The oldest version that watches may begin at, by plural
    compacted: dict[str, int] = field(default_factory=dict)
    # Called with each commit, synchronously
    observers: list[Callable[[Commit], object]] = field(default_factory=list)
    saved: Backup | None = None

    def of(self, plural: str) -> dict[Key, Json]:
        return self.objects.setdefault(plural, {})

    def find(self, plural: str, namespace: str, name: str) -> Json | None:
        return self.of(plural).get((namespace, name))

    def get(self, plural: str, namespace: str, name: str) -> Json:
        found = self.find(plural, namespace, name)
        if found is None:
            raise Refusal(404, "NotFound", f'{plural} "{name}" not found')
        return found

    @property
    def wall(self) -> float:
        return EPOCH + self.clock()

    # -- writes

    def create(
        self, actor: str, plural: str, namespace: str, body: Json, *, dry_run: bool = False
    ) -> Json:
        body = dict(body)
        metadata = dict(body.get("metadata") or {})
        name = metadata.get("name")
        if not name:
            suffix = self.chance.choices("bcdfghjklmnpqrstvwxz2456789", k=5)
            name = metadata["generateName"] + "".join(suffix)
        validate_name(name)
        if (namespace, name) in self.of(plural):
            raise Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')
        metadata |= {
            "name": name,
            "uid": f"{self.chance.getrandbits(32):08x}-{self.chance.getrandbits(16):04x}",
            "creationTimestamp": timestamp(self.wall),
        }
        metadata.pop("resourceVersion", None)
        if namespace:
            metadata["namespace"] = namespace
        body |= {"apiVersion": API_OF[plural], "kind": KIND_OF[plural], "metadata": metadata}
        if plural in GENERATIONS:
            metadata["generation"] = 1
        if plural == "devicetaintrules":
            taint = {"timeAdded": timestamp(self.wall), **body["spec"]["taint"]}
            body["spec"] = {**body["spec"], "taint": taint}
        if plural == "pods":
            body["status"] = {"phase": "Pending"}
        elif plural not in STATUSLESS and actor != "setup":
            body.pop("status", None)
        if dry_run:
            return ordered(body)
        return self._commit(actor, "create", "ADDED", plural, (namespace, name), body, None)

    def update(
        self,
        actor: str,
        plural: str,
        namespace: str,
        name: str,
        change: Callable[[Json], Json],
        subresource: str = "",
        verb: str = "update",
    ) -> Json:
        """Apply a change to an object; it may raise Refusal."""
        old = self.get(plural, namespace, name)
        new = change(old)
        self._require_current(old, new["metadata"])
        metadata = self._metadata(actor, plural, old, new["metadata"], subresource)
        if subresource == "status":
            new = {**old, "status": new.get("status") or {}, "metadata": metadata}
        elif subresource == "binding" or plural in STATUSLESS:
            new = {**new, "metadata": metadata}
        else:
            new = {**new, "metadata": metadata}
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        if "generation" in metadata and new.get("spec") != old.get("spec"):
            metadata["generation"] += 1
        validate(plural, old, new, subresource)
        key = (namespace, name)
        if deleting(new) and not metadata.get("finalizers") and old["metadata"].get("finalizers"):
            self._remove(actor, verb, plural, key, new)
            # The answer has the version before, as that of a real API server.
            version = {"resourceVersion": old["metadata"]["resourceVersion"]}
            return ordered(new | {"metadata": metadata | version})
        if _without_version(new) == _without_version(old):
            return old  # no change: no new version, no event
        return self._commit(actor, verb, "MODIFIED", plural, key, new, old)

    def patch(
        self,
        actor: str,
        plural: str,
        namespace: str,
        name: str,
        body: Json,
        kind: str,
        subresource: str = "",
    ) -> Json:
        apply: Callable[[Any, Any], Any] = strategic if "strategic" in kind else merge
        if "apply" in kind and not subresource and self.find(plural, namespace, name) is None:
            return self.create(actor, plural, namespace, body)
        return self.update(
            actor, plural, namespace, name, lambda old: apply(old, body), subresource, "patch"
        )

    def delete(
        self, actor: str, plural: str, namespace: str, name: str, options: Json | None = None
    ) -> Json:
        options = options or {}
        old = self.get(plural, namespace, name)
        only = options.get("preconditions") or {}
        for field_name in ("uid", "resourceVersion"):
            found = old["metadata"][field_name]
            if only.get(field_name, found) != found:
                raise Refusal(409, "Conflict", f"Precondition failed: {field_name}")
        metadata, key = dict(old["metadata"]), (namespace, name)
        if plural == "pods":
            grace = _grace(old, options)
            if grace > 0:
                if deleting(old):
                    return old
                metadata |= {
                    "deletionTimestamp": timestamp(self.wall + grace),
                    "deletionGracePeriodSeconds": grace,
                }
                new = {**old, "metadata": metadata}
                return self._commit(actor, "delete", "MODIFIED", plural, key, new, old)
        marks = {
            "deletionTimestamp": metadata.get("deletionTimestamp") or timestamp(self.wall),
            "deletionGracePeriodSeconds": 0,
        }
        if metadata.get("finalizers"):
            if deleting(old):
                return old
            new = {**old, "metadata": metadata | marks}
            return self._commit(actor, "delete", "MODIFIED", plural, key, new, old)
        if plural == "pods":
            metadata |= marks
        return self._remove(actor, "delete", plural, key, {**old, "metadata": metadata})

    def evict(self, actor: str, namespace: str, name: str, body: Json) -> Json:
        """Carry out an Eviction (policy/v1), unless a PodDisruptionBudget does not allow it."""
        pod = self.get("pods", namespace, name)
        if not deleting(pod) and not finished_or_pending(pod):
            labels = pod["metadata"].get("labels") or {}
            for key, budget in self.of("poddisruptionbudgets").items():
                selector = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
                matches = key[0] == namespace and selector.items() <= labels.items()
                if matches and not self.allowed(key[0], selector, budget):
                    raise Refusal(
                        429,
                        "TooManyRequests",
                        "Cannot evict pod as it would violate the pod's disruption budget.",
                        [{"reason": "DisruptionBudget", "message": "not enough healthy pods"}],
                    )
        return self.delete(actor, "pods", namespace, name, body.get("deleteOptions"))

    def allowed(self, namespace: str, selector: Json, budget: Json) -> int:
        """Return how many pods of a budget may be disrupted now."""
        healthy = [
            pod
            for key, pod in self.of("pods").items()
            if key[0] == namespace
            and selector.items() <= (pod["metadata"].get("labels") or {}).items()
            and not deleting(pod)
            and not finished_or_pending(pod)
        ]
        return max(0, len(healthy) - int(budget["spec"].get("minAvailable", 0)))

    def keep(self, plural: str, key: Key, body: Json) -> Json:
        """Store an object as it is, whatever rules say."""
        old = self.of(plural).get(key)
        return self._commit(
            "setup", "update", "MODIFIED" if old else "ADDED", plural, key, body, old
        )

    def drop(self, plural: str, key: Key) -> Json:
        """Delete an object, whatever rules say."""
        return self._remove("setup", "delete", plural, key, self.of(plural)[key])

    def _require_current(self, old: Json, wanted: Json) -> None:
        found = old["metadata"]
        if str(wanted.get("resourceVersion", found["resourceVersion"])) != found["resourceVersion"]:
            raise Refusal(409, "Conflict", "the object has been modified")
        if wanted.get("uid", found["uid"]) != found["uid"]:
            cause = {"field": "metadata.uid", "reason": "FieldValueInvalid"}
            raise Refusal(422, "Invalid", "metadata.uid: field is immutable", [cause])

    def _metadata(self, actor: str, plural: str, old: Json, wanted: Json, subresource: str) -> Json:
        found = old["metadata"]
        if subresource == "status" and plural == "resourceclaims":  # ResetObjectMetaForStatus
            metadata = dict(found)
        else:
            metadata = {key: value for key, value in wanted.items() if key not in SYSTEM}
            metadata |= {key: value for key, value in found.items() if key in SYSTEM}
            if subresource == "status":
                kept = ("finalizers", "labels", "ownerReferences")
                metadata |= {key: found[key] for key in kept if key in found}
        if actor == BUILT_IN:
            manager = {"manager": actor, "operation": "Update", "subresource": subresource}
            metadata["managedFields"] = [manager | {"time": timestamp(self.wall)}]
        return metadata

    def _remove(self, actor: str, verb: str, plural: str, key: Key, last: Json) -> Json:
        old = self.of(plural).pop(key)
        return self._commit(actor, verb, "DELETED", plural, key, last, old)

    def _commit(
        self,
        actor: str,
        verb: str,
        kind: str,
        plural: str,
        key: Key,
        body: Json,
        old: Json | None,
    ) -> Json:
        self.rv += self.chance.randint(1, 3)  # other resources share the revision
        new = ordered({**body, "metadata": {**body["metadata"], "resourceVersion": str(self.rv)}})
        if kind != "DELETED":
            self.of(plural)[key] = new
        commit = Commit(self.clock(), self.rv, plural, kind, key, new, old, actor, verb)
        self.history.setdefault(plural, []).append(commit)
        for observer in self.observers:
            observer(commit)
        return new

    # -- the past

    def at(self, plural: str, version: int) -> dict[Key, Json]:
        """Return all objects as of a version."""
        if version >= self.rv:
            return self.of(plural)
        state = dict(self.of(plural))
        for commit in reversed(self.history.get(plural, ())):
            if commit.rv <= version:
                break
            if commit.old is None:
                state.pop(commit.key, None)
            else:
                state[commit.key] = commit.old
        return state

    def since(self, plural: str, version: int) -> Iterable[Commit]:
        history = self.history.get(plural, [])
        return history[bisect_right(history, version, key=lambda one: one.rv) :]

    def compact(self, plural: str) -> None:
        """Forget what watches could begin at, as after a restart of the watch cache."""
        self.compacted[plural] = self.rv

    def back_up(self, ahead: int = 10_000) -> None:
        """Keep what a restored etcd will have.

        Args:
            ahead: Versions that are given out beside: with few, the restored server has caught up
                before anybody asks.
        """
        objects = {plural: dict(found) for plural, found in self.objects.items()}
        lengths = {plural: len(found) for plural, found in self.history.items()}
        self.saved = Backup(self.rv, objects, lengths)
        self.rv += ahead

    def restore(self) -> None:
        """Have the backup again: older versions, which are given out once more."""
        assert self.saved is not None
        saved = self.saved
        self.rv = saved.rv
        self.objects = {
            plural: dict(saved.objects.get(plural, {}))
            for plural in dict.fromkeys((*saved.objects, *self.objects))
        }
        self.history = {
            plural: found[: saved.lengths.get(plural, 0)] for plural, found in self.history.items()
        }
        self.compacted = dict.fromkeys(self.compacted, 0)


def ordered(body: Json) -> Json:
    """Return an object with its fields as the API server writes them."""
    metadata = body["metadata"]
    first = {key: metadata[key] for key in ORDER if metadata.get(key) not in (None, {}, [])}
    rest = {key: value for key, value in metadata.items() if key not in ORDER}
    head = {
        "kind": body.get("kind"),
        "apiVersion": body.get("apiVersion"),
        "metadata": first | rest,
    }
    return head | {key: value for key, value in body.items() if key not in head}


def finished_or_pending(pod: Json) -> bool:
    return bool((pod.get("status") or {}).get("phase", "Pending") != "Running")


def _grace(pod: Json, options: Json) -> float:
    """Return the seconds that a pod keeps (pod strategy, CheckGracefulDelete)."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in TERMINAL:
        return 0
    asked = options.get("gracePeriodSeconds")
    return float(pod["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked)


def _without_version(one: Json) -> Json:
    return {**one, "metadata": {**one["metadata"], "resourceVersion": ""}}
