"""What is wrong with the conditions of selectors: this needs the engine of CEL."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import ATTRIBUTES, Given, Sort
from dragoman_toolkit.linting.knowledge.meant import impossible_driver
from dragoman_toolkit.linting.manifests.manifestobjects import Object
from dragoman_toolkit.linting.rules import celhints, constants
from dragoman_toolkit.linting.rules.reads import Selection, advice, check_read
from dragoman_toolkit.linting.selectors.compilation import compiled
from dragoman_toolkit.linting.selectors.evaluation import outcome
from dragoman_toolkit.linting.selectors.expressiontext import Change, ExpressionText, changed
from dragoman_toolkit.linting.selectors.guarding import Trial, stands
from dragoman_toolkit.linting.selectors.implications import conjuncts, equalities, implications
from dragoman_toolkit.linting.selectors.reads import Read, reads
from dragoman_toolkit.linting.selectors.remark import INVALID, NEVER, UNGUARDED, Remark
from dragoman_toolkit.linting.selectors.scopes import SelectorScope, scopes
from dragoman_toolkit.linting.selectors.syntax import read_key


def remarks(scope: SelectorScope, context: Context) -> Iterator[Remark]:
    """Yield what is wrong with the selectors of one scope."""
    found = (compiled(text, context).tree for text in scope.before)
    trees: list[Any] = [tree for tree in found if tree is not None]
    for index, (_, expression) in enumerate(scope.own):
        one = compiled(expression, context)
        if one.tree is None:
            hint = celhints.expression(expression, one.error)
            changes = _compiling(expression, hint.changes, context)
            yield Remark(INVALID, one.error, hint.advice, index, one.offset, changes)
            continue
        for remark in _of_tree(expression, one.tree, trees, scope, context):
            yield replace(remark, index=index)
        trees.append(one.tree)
    yield from _given(scope, context)


def _of_tree(
    expression: str, tree: Any, trees: list[Any], scope: SelectorScope, context: Context
) -> Iterator[Remark]:
    text = ExpressionText(expression)
    yield from _not_boolean(tree, context)
    yield from constants.remarks(tree, text, context)
    known, proven = implications([*trees, tree]), implications(trees)
    possible = possible_sorts(context, known.driver, known.equal)
    within = Selection(text, known, possible, scope, context.devices)
    for read in reads(tree, proven.present):
        for remark in check_read(read, within):
            yield _tried(remark, read, within, context)
    yield from _contradiction(trees, tree, text, context)


def _compiling(
    expression: str, changes: tuple[Change, ...], context: Context
) -> tuple[Change, ...]:
    """Return changes after which a selector compiles; none where it does not."""
    if changes and compiled(changed(expression, changes), context).selector is not None:
        return changes
    return ()


def _tried(remark: Remark, read: Read, within: Selection, context: Context) -> Remark:
    """Keep what to write instead only where it was evaluated and does what is said."""
    expression = within.text.expression
    if not remark.changes:
        return remark
    if remark.id == UNGUARDED:
        key = (read.domain, read.name)
        sorts = [one for one in within.possible if one.knows(read.part, key)]
        trial = Trial(expression, remark.changes, read, sorts, within.known.equal)
        if not stands(trial, context):
            return replace(remark, changes=())
        if remark.suggestion.startswith("guard"):
            return replace(remark, suggestion=advice(within.text, remark.changes))
        return remark
    return replace(remark, changes=_compiling(expression, remark.changes, context))


def _not_boolean(tree: Any, context: Context) -> Iterator[Remark]:
    """Find a condition that is no more than an attribute of another type; it fails at run time."""
    for part in conjuncts(tree):
        key = read_key(part)
        if key is None or getattr(part, "test", False):
            continue
        _, domain, name = key
        kinds = context.devices.types(domain, name)
        if kinds and "bool" not in kinds:
            message = (
                f"{domain}/{name} is a {min(kinds)} and no condition: it fails on every device"
            )
            yield Remark(INVALID, message, 'compare it, such as == "…"')


def sorts_of(scope: SelectorScope, context: Context) -> list[Sort]:
    """Return the sorts of devices of a request; none where its driver or class is not known."""
    texts = (*scope.before, *(one for _, one in scope.own))
    trees: list[Any] = [tree for one in texts if (tree := compiled(one, context).tree) is not None]
    known = implications(trees)
    if not scope.closed or not known.driver or len(trees) < len(texts):
        return []
    return possible_sorts(context, known.driver, known.equal)


def matching(obj: Object, context: Context) -> dict[str, list[Given]]:
    """Return the given devices that satisfy the selectors of each request of a claim."""
    found: dict[str, list[Given]] = {}
    for request, scope in zip(obj.requests, scopes(obj, context), strict=True):
        result = outcome(scope.before, [one for _, one in scope.own], context)
        found.setdefault(request.name.partition("/")[0], []).extend(result.matched)
    return found


def possible_sorts(
    context: Context, drivers: frozenset[str], equal: dict[tuple[str, str, str], Any]
) -> list[Sort]:
    """Return the sorts of devices that can satisfy what selectors say."""
    return [
        one
        for one in context.devices.sorts
        if drivers <= {one.driver}
        and all(
            equal.get((ATTRIBUTES, one.driver, name), value) == value
            for name, value in one.when.items()
        )
    ]


def _contradiction(
    trees: list[Any], tree: Any, text: ExpressionText, context: Context
) -> Iterator[Remark]:
    """Find literals that contradict each other, or every known device of the driver."""
    both = implications([*trees, tree])
    if len(both.driver) > 1:
        listed = " and ".join(sorted(both.driver))
        message = f"no device has all of the drivers {listed}"
        yield Remark(NEVER, message)
        return
    seen: dict[tuple[str, str, str], Any] = {}
    for one in [*trees, tree]:
        for key, value in equalities(one):
            if key in seen and seen[key] != value:
                name = f"{key[1]}/{key[2]}"
                message = f"{name} cannot be {seen[key]!r} and {value!r} at the same time"
                yield Remark(NEVER, message)
                return
            seen[key] = value
    if both.driver and both.driver <= context.devices.drivers:
        sorts = [one for one in context.devices.sorts if one.driver in both.driver]
        closed = all(one.when for one in sorts)
        if closed and not possible_sorts(context, both.driver, both.equal):
            driver = next(iter(both.driver))
            names = sorted({name for one in sorts for name in one.when})
            values = sorted({value for one in sorts for value in one.when.values()})
            message = f"{driver} has no device with this {', '.join(names)}"
            yield Remark(NEVER, message, f"known: {', '.join(values)}")
    elif both.driver and not both.driver <= context.devices.drivers:
        yield from _unknown_driver(next(iter(both.driver)), text, context)


def _unknown_driver(driver: str, text: ExpressionText, context: Context) -> Iterator[Remark]:
    if impossible_driver(driver):
        return  # found where it is written
    guess = closest(driver, context.devices.drivers, edits=1)
    if guess is None and not context.devices.given:
        return
    message = f'no known device has the driver "{driver}"'
    suggestion = f'did you mean "{guess}"?' if guess else ""
    place = text.literal(driver) if guess else None
    changes = (Change(*place, f'"{guess}"'),) if place else ()
    yield Remark(NEVER, message, suggestion, changes=changes)


def _given(scope: SelectorScope, context: Context) -> Iterator[Remark]:
    """Evaluate the selectors on the devices of given slices, as the scheduler does."""
    if not context.devices.given:
        return
    result = outcome(scope.before, [text for _, text in scope.own], context)
    for index, (failures, error) in sorted(result.failures.items()):
        total = result.considered[index]
        message = f"{error} on {failures} of {total} devices"
        form = "guard it with has() or `.?name.orValue(…)`"
        yield Remark(UNGUARDED, message, form, index)
    if not result.matched and not result.failures and result.compiled:
        total = len(context.devices.given)
        message = f"false for each of the {total} given devices"
        yield Remark(NEVER, message, "", len(scope.own) - 1)
