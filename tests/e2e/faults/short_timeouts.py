"""`dragoman` that gives a silent connection up after seconds instead of a minute or more."""

from dragoman.cli import main
from dragoman.kube.http import pool

SILENCE = 4.0


if __name__ == "__main__":
    pool.RESPONSE_TIMEOUT = pool.STREAM_TIMEOUT = SILENCE
    main()
