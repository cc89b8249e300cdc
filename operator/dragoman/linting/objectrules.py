"""The rules that look at one served object at a time, in the order of their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dragoman.linting.celrules import check_selectors
from dragoman.linting.claimrules import check_admin_access, check_taint_rule, check_tolerations
from dragoman.linting.constraintrules import check_constraints
from dragoman.linting.context import Context
from dragoman.linting.finding import Problem
from dragoman.linting.objects import Object
from dragoman.linting.podrules import check_double, check_references, check_shared

ObjectRule = Callable[[Object, Context], Iterator[Problem]]

RULES_OF_OBJECTS: Final[tuple[ObjectRule, ...]] = (
    check_selectors,
    check_constraints,
    check_references,
    check_tolerations,
    check_shared,
    check_double,
    check_taint_rule,
    check_admin_access,
)
