"""The claim mode: whether dragoman acts at once, or only on what is overdue."""

from collections.abc import Callable
from itertools import islice, takewhile

from dragoman import metrics, surroundings
from dragoman.claims.mode import SEVERAL_NAMESPACES, Activity, Excuses, Mode, ModeState, due_at
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.process import Process
from dragoman.kube.recent import Recent
from dragoman.logs import logger

NEEDS_LIMIT = 100_000
"""Objects whose needs are remembered; the grace of one that was dropped begins again."""
NAMESPACES_LIMIT = 10_000
"""Namespaces whose activity is remembered."""
MODE_ANNOTATION = "dragoman.dev/claims-mode"
"""On the Lease: the mode in force, `own` or `assist`; `off` where claims are not controlled."""
CONFIGURED_ANNOTATION = "dragoman.dev/claims-configured"
"""On the Lease: the leader's `--claims`."""

log = logger("dragoman.mode")


class ClaimMode:
    """Decides under `--claims` what is due, from the activity of another controller.

    Args:
        configured: `auto`, `own` or `assist`.
        grace: Seconds that another controller has for what pods need.
        takeover_after: Seconds of its silence before `auto` takes over.
        keep: Called with the mode at the start and whenever it changes, so that the next leader and
            users have it.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        configured: str,
        *,
        grace: float,
        takeover_after: float,
        keep: Callable[[Mode], None] = lambda _: None,
        clock: Callable[[], float] = surroundings.monotonic,
    ) -> None:
        self.grace = grace
        self._auto = configured == "auto"
        self.contested = configured != "own"  # Whether another controller may write the same
        self._takeover_after = takeover_after
        self._keep = keep
        self._clock = clock
        mode = Mode.OWN if configured == "own" else Mode.ASSIST
        self._state = ModeState(mode, clock())
        self._active: Recent[str, float] = Recent(NAMESPACES_LIMIT)
        self._excuses: Recent[str, Excuses] = Recent(NAMESPACES_LIMIT)
        self._needs: Recent[ObjectKey, tuple[str, float, str]] = Recent(NEEDS_LIMIT)
        self._report()

    @property
    def mode(self) -> Mode:
        """The mode of the cluster."""
        return self._state.mode

    def of(self, namespace: str) -> Mode:
        """Return the mode of a namespace.

        `auto` assists where it saw activity, and acts at once elsewhere: activity in one
        namespace can be forged there, and is then no reason to delay other namespaces.
        """
        if self.mode is Mode.OWN and self._auto and self._is_active(namespace):
            return Mode.ASSIST
        return self.mode

    def resume(self, kept: str | None) -> None:
        """Continue in the mode of the previous leader, where `auto` had decided on one.

        The mode in force is kept again in any case, so that users can read it from the Lease.
        """
        if self._auto and kept in {mode.value for mode in Mode}:
            self._change(ModeState(Mode(kept), self._clock()), "kept by the previous leader")
        self._keep(self.mode)
        self._needs.clear()

    def other_seen(self, activity: Activity, *, namespaces: int) -> None:
        """Note activity of another claim controller.

        Args:
            activity: What was seen.
            namespaces: How many namespaces have pods with claims. Where there are several, one
                alone does not show a controller for the cluster.
        """
        now, namespace = self._clock(), activity.namespace
        self._active[namespace] = now
        if not activity.flapping:
            excuses = self._excuses.get(namespace, Excuses())
            self._excuses[namespace] = excuses.with_activity(activity.created, now)
        needed = max(1, min(SEVERAL_NAMESPACES, namespaces))
        # The latest activity stands last: only as many namespaces as are needed are visited.
        active = sum(1 for _ in takewhile(self._is_active, islice(reversed(self._active), needed)))
        if self._auto and active >= needed:
            self._change(self._state.other_seen(now), "another controller is active")

    def made_claim(self) -> None:
        """Note that dragoman created a claim."""
        if self._auto and self.mode is Mode.ASSIST:
            self._state = self._state.made_claim()

    def tick(self) -> bool:
        """Let time pass; returns whether the mode became `own`."""
        before = self._state.mode
        if self._auto:
            state = self._state.at(self._clock(), takeover_after=self._takeover_after)
            self._change(state, "no other controller is active")
        return self._state.mode is not before

    def delay(self, key: ObjectKey, uid: str = "", created: str = "") -> float:
        """Return the seconds until a need of an object is overdue; 0 when it is, or in `own`.

        A need is overdue when the grace has passed since it was first seen, and since another
        controller last worked on an older need of the namespace; after ten graces in any case.

        Args:
            key: The object.
            uid: Its UID; another object of the same name has needs of its own.
            created: Since when it is needed, as an API timestamp; empty for since now.
        """
        if self.of(key.namespace) is Mode.OWN:
            return 0.0
        now = self._clock()
        known, needed, since = self._needs.get(key, (None, now, ""))
        if known != uid:
            needed, since = now, created or surroundings.timestamp()
            self._needs[key] = (uid, needed, since)
        excused = self._excuses.get(key.namespace, Excuses()).for_need(since)
        return max(0.0, due_at(needed, excused, self.grace) - now)

    def settled(self, key: ObjectKey) -> None:
        """Drop the need of an object that needs nothing any more."""
        self._needs.pop(key, None)

    def _is_active(self, namespace: str) -> bool:
        return self._clock() - self._active.get(namespace, float("-inf")) < self._takeover_after

    def _change(self, state: ModeState, why: str) -> None:
        changed = state.mode is not self._state.mode
        self._state = state
        if changed:
            log.info("Changed mode", mode=state.mode.value, why=why)
            self._report()
            self._keep(state.mode)

    def _report(self) -> None:
        for mode in Mode:
            metrics.MODE.labels(mode.value).set(mode is self.mode)


def say_off(process: Process) -> None:
    """Let users, and the next leader, read that no claims are controlled."""
    for mode in Mode:
        metrics.MODE.labels(mode.value).set(0)
    if process.elector is not None:
        process.elector.annotate(MODE_ANNOTATION, "off")
        process.elector.annotate(CONFIGURED_ANNOTATION, "off")
