"""The rules that look at one served object at a time, in the order of their findings."""

from collections.abc import Callable, Iterator

from dragoman_toolkit.linting.findings.edits import Splice
from dragoman_toolkit.linting.findings.finding import Problem, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import Object
from dragoman_toolkit.linting.rules.claims import (
    check_admin_access,
    check_taint_rule,
    check_tolerations,
)
from dragoman_toolkit.linting.rules.constraints import check_constraints
from dragoman_toolkit.linting.rules.effects import (
    check_amount,
    check_config_drivers,
    check_grace,
    check_slice_effects,
    check_use,
)
from dragoman_toolkit.linting.rules.extended import check_extended
from dragoman_toolkit.linting.rules.pods import check_double, check_references, check_shared
from dragoman_toolkit.linting.selectors.scopes import scopes


def check_selectors(obj: Object, context: Context) -> Iterator[Problem]:
    """Check every selector of an object."""
    for scope in scopes(obj, context):
        if not scope.own:
            continue
        memory = context.memory.setdefault("remarks", {})
        if scope.key not in memory:
            from dragoman_toolkit.linting.rules.conditions import remarks  # noqa: PLC0415 — CEL is heavy

            memory[scope.key] = tuple(remarks(scope, context))
        for remark in memory[scope.key]:
            steps = scope.own[remark.index][0]
            message = f"{render(steps)}: {remark.message}"
            edits = tuple(
                Splice(steps, change.start, change.end, change.text) for change in remark.changes
            )
            yield Problem(
                remark.id,
                steps,
                message,
                remark.suggestion,
                remark.severity,
                edits,
                safe=False,
                offset=remark.offset,
                at_key=False,
            )


ObjectRule = Callable[[Object, Context], Iterator[Problem]]

RULES_OF_OBJECTS: tuple[ObjectRule, ...] = (
    check_selectors,
    check_constraints,
    check_references,
    check_tolerations,
    check_shared,
    check_extended,
    check_double,
    check_taint_rule,
    check_admin_access,
    check_amount,
    check_use,
    check_grace,
    check_config_drivers,
    check_slice_effects,
)

RULES_OF_POD_TEMPLATES: tuple[ObjectRule, ...] = (
    check_references,
    check_shared,
    check_extended,
    check_double,
    check_use,
    check_grace,
)
"""Those that look at pod templates in kinds whose fields are not known."""
