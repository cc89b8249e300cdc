"""Findings about permissions of drivers, which were tried before: see `driverrights`."""

from collections.abc import Iterator

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding


def driver_rights(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver's account may write slices of other nodes, or more than drivers need."""
    yield from facts.rights
