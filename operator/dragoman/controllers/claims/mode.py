"""Which mode is in force, and what is due in it."""

import time
from collections import OrderedDict
from collections.abc import Callable

from dragoman import metrics
from dragoman.claims.mode import Activity, Mode, ModeState
from dragoman.controllers.claims.enqueue import Key
from dragoman.logs import logger

NEEDS_LIMIT = 100_000
"""Objects whose waiting is remembered; one forgotten begins to wait anew."""
MODE_ANNOTATION = "dragoman.dev/claims-mode"

log = logger("dragoman.mode")


class ClaimMode:
    """Keeps the mode under `--claims`, from signs of another controller.

    Args:
        configured: `auto`, `own` or `assist`.
        grace: Seconds that another controller has for what pods need.
        quiet: Seconds of its silence before `auto` takes over.
        keep: Called with the mode of `auto` whenever it changes, so that a next leader finds it.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        configured: str,
        *,
        grace: float,
        takeover_after: float,
        keep: Callable[[Mode], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.grace = grace
        self._auto = configured == "auto"
        self._takeover_after = takeover_after
        self._keep = keep
        self._clock = clock
        mode = Mode.OWN if configured == "own" else Mode.ASSIST
        self._state = ModeState(mode, clock())
        self._sign_at = float("-inf")
        self._needed_since: OrderedDict[Key, tuple[str, float]] = OrderedDict()
        self._show()

    @property
    def mode(self) -> Mode:
        """The mode in force."""
        return self._state.mode

    def resume(self, kept: str | None) -> None:
        """Go on in the mode of the leader before, where `auto` had found one."""
        if self._auto and kept in {mode.value for mode in Mode}:
            self._change(ModeState(Mode(kept), self._clock()), "kept by the leader before")
        self._needed_since.clear()

    def other_seen(self, sign: Activity) -> None:
        """Note a sign that another claim controller is at work."""
        now = self._clock()
        if sign is Activity.PROGRESS:
            self._sign_at = now
        if self._auto:
            self._change(self._state.other_seen(now), "another controller is at work")

    def made_claim(self) -> None:
        """Note that a claim was made here."""
        if self._auto and self.mode is Mode.ASSIST:
            self._state = self._state.made_claim()

    def tick(self) -> bool:
        """Let time pass; returns whether the mode became `own`."""
        before = self._state.mode
        if self._auto:
            state = self._state.at(self._clock(), takeover_after=self._takeover_after)
            self._change(state, "no other controller was seen")
        return self._state.mode is not before

    def delay(self, key: Key, uid: str = "") -> float:
        """Return the seconds until a need of an object is overdue; 0 when it is, or in `own`.

        Overdue means that the grace has passed since the need was first seen, and since the other
        controller was last seen to get on anywhere: it may only be slow.
        """
        if self.mode is Mode.OWN:
            return 0.0
        now = self._clock()
        known, needed = self._needed_since.get(key, (None, now))
        if known != uid:
            # Another object of the same name does not inherit what its predecessor waited.
            needed = now
            self._needed_since[key] = (uid, needed)
            if len(self._needed_since) > NEEDS_LIMIT:
                self._needed_since.popitem(last=False)
        return max(0.0, max(needed, self._sign_at) + self.grace - now)

    def settled(self, key: Key) -> None:
        """Forget since when something was needed."""
        self._needed_since.pop(key, None)

    def _change(self, state: ModeState, why: str) -> None:
        changed = state.mode is not self._state.mode
        self._state = state
        if changed:
            log.info("Changed mode", mode=state.mode.value, why=why)
            self._show()
            self._keep(state.mode)

    def _show(self) -> None:
        for mode in Mode:
            metrics.MODE.labels(mode.value).set(mode is self.mode)
