"""`python -m tests.support.mutants`: `dragoman pretend`, with the faults of MUTANTS too."""

import click

from dragoman_drivers.cli import pretend, pretending
from tests.support.mutants.driver import Mutant

if __name__ == "__main__":
    click.Command(
        "pretend",
        params=pretend.pretend.params,
        callback=lambda **options: pretending.run(options, Mutant),
    )()
