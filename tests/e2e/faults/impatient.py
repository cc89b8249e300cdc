"""`dragoman` that gives a silent connection up after seconds instead of a minute or more."""

import kopf

from dragoman import operator
from dragoman.cli import main
from dragoman.kube.http import pool
from dragoman.shell import configure_kopf

SILENCE = 4.0


def impatiently(settings: kopf.OperatorSettings) -> None:
    """Configure kopf as ever, but for its patience."""
    configure_kopf(settings)
    settings.watching.inactivity_timeout = SILENCE
    settings.networking.request_timeout = SILENCE


if __name__ == "__main__":
    operator.configure_kopf = impatiently  # type: ignore[attr-defined]  # imported there by name
    pool.ANSWER = pool.SILENCE = SILENCE
    main()
