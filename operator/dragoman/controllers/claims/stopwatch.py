"""For how long things have been so: the times that facts themselves do not carry."""

import time
from collections.abc import Callable

LONG_AGO = float("-inf")


class Since:
    """Remembers, by UID, since when states hold; nothing about those that do not.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, dict[str, tuple[str, float]]] = {}

    def elapsed(self, uid: str, state: str, *, holds: bool, version: str = "") -> float:
        """Return for how many seconds a state has held; 0 when it does not.

        Args:
            uid: Of the object.
            state: A name for the state.
            holds: Whether it holds now.
            version: Another version is another state, which begins now.
        """
        if not holds:
            states = self._since.get(uid)
            if states is not None and states.pop(state, None) is not None and not states:
                del self._since[uid]
            return 0.0
        states = self._since.setdefault(uid, {})
        known, since = states.get(state, (None, 0.0))
        if known != version:
            since = self._clock()
            states[state] = (version, since)
        return self._clock() - since

    def began_long_ago(self, uid: str, state: str, version: str) -> None:
        """Take a state as old from its beginning, because its cause is known."""
        self._since.setdefault(uid, {})[state] = (version, LONG_AGO)

    def forget(self, uid: str) -> None:
        """Forget an object."""
        self._since.pop(uid, None)
