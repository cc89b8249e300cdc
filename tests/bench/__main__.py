"""`make bench`."""

from tests.bench.claims.__main__ import main

main()
