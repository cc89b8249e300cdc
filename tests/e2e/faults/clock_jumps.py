"""`dragoman` on a machine whose wall clock jumps every two seconds, by hours or by years."""

import random
import time
from datetime import datetime, timedelta, tzinfo
from typing import Self

from dragoman.cli import main
from dragoman.controllers.claims import gather
from dragoman.kube import events, leaderelection

HOUR = timedelta(hours=1)
JUMPS = (timedelta(), HOUR, -HOUR, 24 * 365 * HOUR, -24 * 365 * HOUR)
PERIOD = 2.0


class JumpingClock(datetime):
    """Tells the time of now, give or take."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """Return some time or other; the same offset for two seconds."""
        luck = random.Random(int(time.monotonic() / PERIOD))
        return super().now(tz) + luck.choice(JUMPS)


if __name__ == "__main__":
    for module in (gather, leaderelection, events):
        module.datetime = JumpingClock  # type: ignore[attr-defined]  # imported there by its name
    main()
