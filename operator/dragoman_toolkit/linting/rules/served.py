"""`dra/served-since`: what not every known version of Kubernetes serves.

Without `--kubernetes` a manifest is checked for the newest version, and may go to an older one.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dragoman_base.versions import DEFAULT, KNOWN, Version
from dragoman_base.versions import name as version_name
from dragoman_toolkit.linting.findings.finding import Problem, Steps, render
from dragoman_toolkit.linting.knowledge.api import Misfit, api_of
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import Object

SINCE = "dra/served-since"


def since(obj: Object, context: Context) -> Iterator[Problem]:
    """Find kinds and fields that only newer versions serve, once each in a check."""
    told = context.reported.setdefault(SINCE, set())
    later = _later(obj.api_version, obj.kind, context.api.version)
    text = obj.document
    if later is not None and not text.has("\\") and not any(map(text.has, later)):
        return  # none of the fields that differ is named, also not by an escape
    nowhere = _absent(obj, context.api.version, context)
    for steps in _absent(obj, DEFAULT, context):
        field = tuple(step for step in steps if isinstance(step, str))
        if steps not in nowhere and (obj.kind, field) not in told:
            told.add((obj.kind, field))
            first = next(one for one in KNOWN if steps not in _absent(obj, one, context))
            what = render(steps) if steps else f"{obj.api_version} {obj.kind}"
            yield Problem(
                SINCE,
                steps or ("apiVersion",),
                f"{what} is served since Kubernetes {version_name(first)}",
                f"--kubernetes {version_name(DEFAULT)} checks for servers without it",
            )


@cache
def _later(api_version: str, kind: str, version: Version) -> tuple[str, ...] | None:
    """Return names of fields that `DEFAULT` lacks in a kind; None where it lacks the kind."""
    ours, theirs = api_of(version), api_of(DEFAULT)
    pair = ours.schema(api_version, kind), theirs.schema(api_version, kind)
    if None in pair:
        return None
    names: set[str] = set()
    stack: list[tuple[Any, Any]] = [pair]
    seen: set[tuple[str, str]] = set()
    while stack:
        one, other = stack.pop()
        if "$ref" in one and "$ref" in other:
            if (key := (one["$ref"], other["$ref"])) in seen:
                continue
            seen.add(key)
        one, other = ours.resolved(one), theirs.resolved(other)
        known, former = one.get("properties", {}), other.get("properties", {})
        names |= known.keys() - former.keys()
        stack += [(known[name], former[name]) for name in known.keys() & former.keys()]
        for word in ("items", "additionalProperties"):
            inner = one.get(word), other.get(word)
            stack += [inner] if all(isinstance(schema, dict) for schema in inner) else []
    return tuple(sorted(names))


def _absent(obj: Object, version: Version, context: Context) -> Mapping[Steps, None]:
    """Return what a version does not serve: the paths of fields, the empty path for the kind."""
    key = (SINCE, id(obj), version)
    if key not in context.memory:
        api = api_of(version)
        schema = api.schema(obj.api_version, obj.kind)
        misfits = () if schema is None else api.misfits(schema, obj.tree)
        fields = {one.steps: None for one in misfits if one.keyword == "unknown"}
        # The object is kept, so that no other one gets its identity.
        context.memory[key] = {(): None} if schema is None else fields, obj
    found: Mapping[Steps, None] = context.memory[key][0]
    return found


def gone(obj: Object, context: Context) -> Iterator[Problem]:
    """Find kinds of other groups in versions that only other Kubernetes versions serve."""
    others = [one for one in KNOWN if api_of(one).schema(obj.api_version, obj.kind) is not None]
    if others and not obj.in_group:
        newest = context.api.newest(obj.group, obj.kind)
        instead = f"write {obj.group}/{newest}, or " if newest else ""
        yield Problem(
            SINCE,
            ("apiVersion",),
            f"Kubernetes {context.kubernetes} does not serve {obj.api_version} {obj.kind}",
            f"{instead}check with --kubernetes {version_name(others[-1])}",
        )


def elsewhere(obj: Object, misfit: Misfit, context: Context) -> str:
    """Return advice where another version has a field; empty where none has."""
    for version in reversed(KNOWN):
        absent = _absent(obj, version, context)
        if () not in absent and misfit.steps not in absent:
            known = version_name(version)
            return f"Kubernetes {known} has it: --kubernetes {known}"
    return ""
