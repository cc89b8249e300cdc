"""What `--unsafe-fixes` offers: changes after which the object has no error that it had not."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dragoman_toolkit.linting.findings.edits import Rename, Set, applied
from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.manifests.manifestobjects import Object

_MAX_TRIED = 8
"""Problems of one object whose changes are tried one by one; those of others are not offered."""

Findings = Callable[[Object], Iterable[Problem]]
IsError = Callable[[Problem], bool]


def confirmed(
    obj: Object, problems: list[Problem], find: Findings, is_error: IsError
) -> list[Problem]:
    """Return the problems of an object, those without edits whose edits do not correct them.

    Selectors and driver configs are judged where their edits are made; this is for names and
    values, which another part of the object may depend on.
    """
    tried = [one for one in problems if not one.safe and _plain(one)]
    if not tried:
        return problems
    before = {(one.id, one.message) for one in problems}

    def corrects(changes: Sequence[Problem]) -> bool:
        edits = [edit for one in changes for edit in one.edits]
        try:
            changed = replace(obj, tree=applied(obj.tree, edits))
        except (LookupError, TypeError, AttributeError):
            return False
        after = {(one.id, one.message): one for one in find(changed)}
        gone = all((one.id, one.message) not in after for one in changes)
        return gone and not any(is_error(after[new]) for new in after.keys() - before)

    if corrects(tried):
        return problems
    wrong = {id(one) for n, one in enumerate(tried) if n >= _MAX_TRIED or not corrects([one])}
    return [replace(one, edits=()) if id(one) in wrong else one for one in problems]


def _plain(problem: Problem) -> bool:
    return bool(problem.edits) and all(isinstance(one, Set | Rename) for one in problem.edits)
