"""State machines beside models of what is promised: work queue, informer, store, election."""

import asyncio
import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.store import DeletedUIDs, Store, StoredObject
from dragoman.kube.workqueue import WorkQueue
from dragoman.surroundings import Surroundings, using
from tests.unit.dragoman.kube.fake_lease import Candidate, LeaseServer
from tests.unit.dragoman.kube.virtual_time import VirtualLoop
from tests.unit.examples import examples

KEYS = st.sampled_from(["a/1", "a/2", "b/1", "c/1"])
NAMES = st.sampled_from(["x", "y"])


class Queue(RuleBasedStateMachine):
    """No key is lost, and none is with two workers."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.using = using(Surroundings(monotonic=self.loop.time))
        self.using.__enter__()
        self.queue: WorkQueue[str] = WorkQueue(
            "machine", namespace=lambda key: key.partition("/")[0], jitter=lambda: 0.5
        )
        self.queue.open()
        self.wanted: set[str] = set()  # Due, and not given to a worker since
        self.later: dict[str, float] = {}
        self.working: set[str] = set()

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.wanted.add(key)
        self.later.pop(key, None)

    @rule(key=KEYS, seconds=st.sampled_from([0.5, 2.0, 60.0]))
    def add_after(self, key: str, seconds: float) -> None:
        self._do(self._call(self.queue.add_after, key, seconds))
        if key not in self.wanted:
            due = self.loop.time() + seconds
            self.later[key] = min(due, self.later.get(key, due))

    @precondition(lambda self: self.wanted - self.working)
    @rule()
    def get(self) -> None:
        key = self._do(self.queue.get())
        assert key in self.wanted
        assert key not in self.working
        self.wanted.discard(key)
        self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.queue.done(key)
        self.working.discard(key)

    @rule(seconds=st.sampled_from([0.1, 1.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self._do(asyncio.sleep(seconds))
        due = {key for key, when in self.later.items() if when <= self.loop.time()}
        self.wanted |= due
        for key in due:
            del self.later[key]

    @invariant()
    def counts(self) -> None:
        assert self.queue.busy == len(self.working)
        assert len(self.queue) == len(self.wanted - self.working)
        assert self.queue.delayed == len(self.later)

    def teardown(self) -> None:
        for key in sorted(self.working):
            self.queue.done(key)
        for _ in sorted(self.wanted):
            self.queue.done(self._do(self.queue.get()))
        assert len(self.queue) == 0
        self.queue.close()
        self.using.__exit__(None, None, None)
        self.loop.close()

    async def _call(self, function: Any, *arguments: Any) -> None:
        function(*arguments)

    def _do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)


class Watched(RuleBasedStateMachine):
    """However late and in whatever order of own writes and events, the store ends as the server.

    Events of the watch arrive in their order; responses to own writes and live reads before them.
    A restored backup is followed by a list.
    """

    def __init__(self) -> None:
        super().__init__()
        client: Any = None
        resource: Any = None
        self.store: Store[StoredObject] = Store(DeletedUIDs(), name=lambda one: [_name(one)])
        self.informer: Informer[StoredObject] = Informer(
            client, resource, StoredObject.parse, store=self.store
        )
        self.seen: dict[str, str] = {}
        self.restoring = False
        self.informer.observe(self._observe)
        self.version, self.uids = 10, 0
        self.server: dict[str, dict[str, Any]] = {}
        self.pending: list[dict[str, Any]] = []
        self.backup: tuple[int, dict[str, dict[str, Any]]] | None = None

    @rule(name=NAMES, own=st.booleans())
    def write(self, name: str, own: bool) -> None:
        self.version += 1
        if name not in self.server:
            self.uids += 1
        uid = self.server[name]["metadata"]["uid"] if name in self.server else f"u{self.uids}"
        one = _object(name, uid, self.version)
        self.pending.append({"type": "MODIFIED" if name in self.server else "ADDED", "object": one})
        self.server[name] = one
        if own:
            self.informer.changed(StoredObject.parse(one))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.server:
            self.version += 1
            gone = _object(name, self.server.pop(name)["metadata"]["uid"], self.version)
            self.pending.append({"type": "DELETED", "object": gone})

    @rule(count=st.integers(1, 5))
    def deliver(self, count: int) -> None:
        for event in self.pending[:count]:
            self.informer.handle(event)
        del self.pending[:count]

    @rule()
    def back_up(self) -> None:
        self.backup = (self.version, dict(self.server))

    @precondition(lambda self: self.backup is not None)
    @rule()
    def restore(self) -> None:
        assert self.backup is not None
        self.version, self.server = self.backup[0], dict(self.backup[1])
        self.pending.clear()
        self.informer.roll_back()
        self.restoring = True
        self.relist()
        self.restoring = False

    @rule()
    def relist(self) -> None:
        """The watch has expired: what was to come is listed instead."""
        self.pending.clear()
        before = list(self.store)
        for one in self.server.values():
            self.informer.handle({"type": "ADDED", "object": one})
        self.informer.delete_missing(
            before, {one["metadata"]["uid"] for one in self.server.values()}
        )
        self.is_settled()

    @invariant()
    def is_settled(self) -> None:
        stored = {_name(one): one.metadata.resource_version for one in self.store}
        assert self.seen == stored  # observers were told of every change
        assert {_name(one) for name in stored for one in self.store.find("name", name)} == {*stored}
        if not self.pending:
            actual = {n: one["metadata"]["resourceVersion"] for n, one in self.server.items()}
            assert stored == actual

    def _observe(self, old: StoredObject | None, new: StoredObject | None) -> None:
        if old is not None:
            assert self.seen.pop(_name(old)) == old.metadata.resource_version
        if old is not None and new is not None and not self.restoring:
            versions = (old.metadata.resource_version, new.metadata.resource_version)
            assert int(versions[0]) < int(versions[1])  # an event never undoes an own write
        if new is not None:
            self.seen[_name(new)] = new.metadata.resource_version


def _name(one: StoredObject) -> str:
    return one.metadata.name


def _object(name: str, uid: str, version: int) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "n", "name": name, "uid": uid, "resourceVersion": str(version)}
    }


class Election(RuleBasedStateMachine):
    """At most one candidate leads, whatever breaks; one leads soon after everything is mended."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        chance = random.Random(1)
        self.using = using(Surroundings(monotonic=self.loop.time, chance=chance))
        self.using.__enter__()
        self.server = LeaseServer()
        self.candidates: list[Candidate] = []
        self.gone: list[Candidate] = []
        self.names = 0

    @precondition(lambda self: len(self.candidates) < 3)
    @rule()
    def join(self) -> None:
        self.names += 1
        self.candidates.append(self._do(self._joined(f"candidate-{self.names}")))

    @precondition(lambda self: self.candidates)
    @rule(
        data=st.data(),
        fault=st.sampled_from(["none", "refused", "silent", "no answers", "slow"]),
    )
    def break_line(self, data: st.DataObject, fault: str) -> None:
        line = data.draw(st.sampled_from(self.candidates)).line
        line.refusal = ApiError(500, "InternalError", "no") if fault == "refused" else None
        line.silent, line.loses_answers = fault == "silent", fault == "no answers"
        line.latency = 3.0 if fault == "slow" else 0.01

    @precondition(lambda self: self.candidates)
    @rule(data=st.data(), cleanly=st.booleans())
    def leave(self, data: st.DataObject, cleanly: bool) -> None:
        candidate = data.draw(st.sampled_from(self.candidates))
        self.candidates.remove(candidate)
        self.gone.append(candidate)
        if cleanly:
            self._do(candidate.stop())
        else:
            candidate.die()

    @rule(seconds=st.sampled_from([0.5, 2.5, 9.0, 16.0]))
    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 4)):
            self._do(asyncio.sleep(0.25))
            self.one_leads()

    @invariant()
    def one_leads(self) -> None:
        leading = [one.leader_elector.identity for one in self.candidates if one.leading]
        assert len(leading) <= 1
        if leading:
            assert self.server.holder in (leading[0], "")

    def teardown(self) -> None:
        for one in self.candidates:
            one.line.refusal, one.line.latency = None, 0.01
            one.line.silent = one.line.loses_answers = False
        self.wait(16.0)
        self.wait(16.0)  # a request that hangs first, and then what is left of the Lease
        assert sum(one.leading for one in self.candidates) == bool(self.candidates)
        for one in (*self.candidates, *self.gone):
            self._do(one.stop())
        self.using.__exit__(None, None, None)
        self.loop.close()

    async def _joined(self, name: str) -> Candidate:
        return Candidate(self.server, name)

    def _do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)


STEPS = settings(max_examples=examples(20), stateful_step_count=40, deadline=None)
TestQueue = Queue.TestCase
TestQueue.settings = STEPS
TestWatched = Watched.TestCase
TestWatched.settings = STEPS
TestElection = Election.TestCase
TestElection.settings = settings(STEPS, max_examples=examples(10))
