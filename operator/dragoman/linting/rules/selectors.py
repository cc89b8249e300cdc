"""Rules about selectors: do they compile, can they fail, can they ever be true."""

from collections.abc import Iterator

from dragoman.linting.findings.finding import Problem, render
from dragoman.linting.knowledge.context import Context
from dragoman.linting.manifests.manifestobjects import Object
from dragoman.linting.selectors.scopes import scopes


def check_selectors(obj: Object, context: Context) -> Iterator[Problem]:
    """Check every selector of an object."""
    for scope in scopes(obj, context):
        if not scope.own:
            continue
        memory = context.memory.setdefault("remarks", {})
        if scope.key not in memory:
            from dragoman.linting.rules.conditions import remarks  # noqa: PLC0415 — CEL is heavy

            memory[scope.key] = tuple(remarks(scope, context))
        for remark in memory[scope.key]:
            steps = scope.own[remark.index][0]
            message = f"{render(steps)}: {remark.message}"
            yield Problem(
                remark.id, steps, message, remark.suggestion, offset=remark.offset, at_key=False
            )
