"""The check: texts in, a report out, the same for the same input."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dragoman_base.versions import Version
from dragoman_toolkit.linting.findings.confirming import confirmed
from dragoman_toolkit.linting.findings.finding import (
    ERROR,
    OFF,
    SAFE,
    UNSAFE,
    CheckReport,
    Finding,
    Problem,
    UnreadableFile,
    render,
)
from dragoman_toolkit.linting.knowledge.api import Misfit, ServedApi
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from dragoman_toolkit.linting.manifests import documents
from dragoman_toolkit.linting.manifests.documents import (
    ManifestDocument,
    Positions,
    UnreadableError,
)
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    is_manifest,
    mapping,
    objects,
    text,
)
from dragoman_toolkit.linting.manifests.placeholders import depends, template
from dragoman_toolkit.linting.rules import extended, ignores, served, versions
from dragoman_toolkit.linting.rules.gates import DROPS, check_gates
from dragoman_toolkit.linting.rules.kinds import check_kind
from dragoman_toolkit.linting.rules.objectrules import RULES_OF_OBJECTS, RULES_OF_POD_TEMPLATES
from dragoman_toolkit.linting.rules.table import RULES
from dragoman_toolkit.linting.validation.check import invalid

FILLED_IN = "value with a placeholder"
PATCHED = "value that a patch may complete"
OTHER_KIND = "of other kinds"
NO_MANIFEST = "that is no manifest"
PATCH = "kustomize patch"
LOCAL = "local object of a tool"
ENCRYPTED = "object encrypted by SOPS"
_LOCAL_CONFIG = "config.kubernetes.io/local-config"
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
"""Members that only patches have."""

_LACKS = ("Required value", "Invalid value: must ", "exactly one value must be specified")
"""Words for fields that are missing, perhaps because their names are misspelled."""
_REQUIRED = re.compile(r"(\w+)(?:\[\d+\])?: Required value")
"""The field that is missing."""
_CLAIMS = {"claims", "resourceClaims"}
_NOT_DECLARED = "must be one of the names in pod.spec.resourceClaims"
_MISSING = "dra/reference-missing"
_UNUSED = "dra/claim-unused"
_CONFIG = "dra/driver-config"

DriverConfigs = Callable[[Object], Iterable[Problem]]


@dataclass(frozen=True)
class CheckOptions:
    """What the user chose."""

    # By rule; rules that are not named keep their own
    severities: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False  # Whether the input holds everything that its objects may name
    any_version: bool = False  # Whether the manifests may go to a server of another version
    # The version that the cluster is upgraded to; None where none was named
    target: Version | None = None
    # Versions such as `resource.k8s.io/v1beta1` that are off by default and that the server has
    served: frozenset[str] = frozenset()
    gates: Mapping[str, bool] = field(default_factory=dict)  # Feature gates that differ


@dataclass
class CheckedText:
    """One text and its documents."""

    name: str  # Of the file, `-` for standard input
    text: str  # Its content
    documents: tuple[ManifestDocument, ...] = ()  # What was read of it
    failure: UnreadableFile | None = None  # Why it could not be read
    template: str = ""  # Of which tool it is a template that was not rendered; else empty
    left: str = ""  # Why it is left alone as a whole; empty where it is checked
    # Patches that complete its objects, by kind
    completed: Mapping[str, str] = field(default_factory=dict)
    rendered: bool = False  # Whether a tool made it of files that are checked as well


def read(name: str, text: str) -> CheckedText:
    """Read one text; what cannot be read is noted in the result."""
    try:
        if made := template(text, readable=True):
            return CheckedText(name, text, template=made)
        return CheckedText(name, text, tuple(documents.read(text)))
    except UnreadableError as error:
        if made := template(text, readable=False):
            return CheckedText(name, text, template=made)
        return CheckedText(
            name, text, failure=UnreadableFile(name, error.line, error.column, str(error))
        )


@dataclass(frozen=True, slots=True)
class Fixable:
    """A finding that `fixes` can correct: the object, its problem with edits, and the finding."""

    object: Object
    problem: Problem
    finding: Finding


@dataclass(frozen=True)
class Checked:
    """The report together with what `fixes` can correct."""

    report: CheckReport  # For the user
    fixable: Mapping[str, list[Fixable]]  # Findings with edits, by file


def check(  # noqa: PLR0913 — two have defaults
    sources: Iterable[CheckedText],
    api: ServedApi,
    devices: KnownDevices,
    options: CheckOptions,
    *,
    driver_configs: DriverConfigs = lambda _: (),
    known: tuple[Object, ...] = (),
) -> Checked:
    """Check texts.

    Args:
        sources: The texts, read.
        api: The API of the chosen version.
        devices: Known devices.
        options: The user's choices.
        driver_configs: Judges driver configs.
        known: Objects of the cluster, which are named but not checked.
    """
    sources = list(sources)
    left = Counter(source.left for source in sources if source.left)
    found = tuple(
        one
        for source in sources
        if not source.left
        for text in source.documents
        for one in objects(source.name, text)
    )
    parts = {id(one): why for one in found if (why := part_of(one))}
    left += Counter(parts.values())
    rendered = {source.name for source in sources if source.rendered}
    everything = (*(one for one in found if id(one) not in parts), *known)
    context = Context(
        api,
        devices,
        everything,
        options.complete,
        driver_configs,
        options.any_version,
        options.target,
        options.served,
        options.gates,
    )
    run = _Run(context, options, {one.name: one.completed for one in sources if one.completed})
    for obj in found:
        if id(obj) not in parts:
            run.object(obj)
    left += run.left
    skipped = Counter(one.template for one in sources if one.template)
    failures = tuple(one.failure for one in sources if one.failure is not None)
    report = CheckReport(
        tuple(sorted(_said_once(run.findings, rendered))),
        failures,
        run.objects,
        skipped=dict(skipped),
        ignored=run.ignored,
        left_alone={reason: count for reason, count in left.items() if count},
        files=tuple(source.name for source in sources if source.failure is None),
        notes=tuple(extended.notes(context)),
    )
    return Checked(report, run.fixable)


@dataclass
class _Run:
    """One check under way."""

    context: Context
    options: CheckOptions
    completed: Mapping[str, Mapping[str, str]]  # Patches by kind of the objects, by file
    findings: list[Finding] = field(default_factory=list)
    fixable: dict[str, list[Fixable]] = field(default_factory=dict)
    objects: int = 0
    left: Counter[str] = field(default_factory=Counter)  # What was left alone, by reason
    ignored: int = 0
    _last: tuple[int, Positions] | None = None

    def object(self, obj: Object) -> None:
        problems = []
        for problem in problems_of(obj, self.context):
            if depends(obj, problem):
                self.left[FILLED_IN] += 1
            elif _completed(problem, self.completed.get(obj.file, {}).get(obj.kind, "")):
                self.left[PATCHED] += 1
            else:
                problems.append(problem)
        checked = is_checked(obj, self.context) or bool(problems)
        self.objects += checked
        if not checked:
            manifest = "apiVersion" in obj.tree or "kind" in obj.tree
            self.left[OTHER_KIND if manifest else NO_MANIFEST] += 1
        if not problems and not ignores.mentioned(obj):
            return
        trial = self._trial
        problems = confirmed(obj, problems, lambda changed: problems_of(changed, trial), _is_error)
        rules = ignores.rules_of(obj)
        problems += rules.problems
        for problem in problems:
            self._add(obj, problem, rules)

    @cached_property
    def _trial(self) -> Context:
        return self.context.apart()

    def _add(self, obj: Object, problem: Problem, rules: ignores.Ignores) -> None:
        severity = self._severity(problem)
        if severity == OFF:
            return
        at = self._positions(obj.document).find(
            (*obj.root, *problem.steps), at_key=problem.at_key, offset=problem.offset
        )
        if rules.cover(problem.id, at.line):
            self.ignored += 1
            return
        finding = Finding(
            obj.file,
            at.line,
            at.column,
            problem.id,
            render(problem.steps),
            problem.message,
            severity,
            obj.title,
            problem.suggestion,
            (SAFE if problem.safe else UNSAFE) if problem.edits else "",
        )
        self.findings.append(finding)
        if problem.edits:
            self.fixable.setdefault(obj.file, []).append(Fixable(obj, problem, finding))

    def _severity(self, problem: Problem) -> str:
        return (
            self.options.severities.get(problem.id)
            or problem.severity
            or RULES[problem.id].severity
        )

    def _positions(self, document: ManifestDocument) -> Positions:
        if self._last is None or self._last[0] != id(document):
            self._last = (id(document), Positions(document))
        return self._last[1]


def _completed(problem: Problem, patches: str) -> bool:
    """Tell whether a problem is that something is missing which patches may add."""
    if not patches:
        return False
    lacking = (*_LACKS, "must specify one of", _NOT_DECLARED)
    required = _REQUIRED.search(problem.message)
    if required is not None:
        return required[1] in patches
    return problem.id == _UNUSED or any(words in problem.message for words in lacking)


def _is_error(problem: Problem) -> bool:
    return (problem.severity or RULES[problem.id].severity) == ERROR


def _said_once(findings: Iterable[Finding], rendered: set[str]) -> set[Finding]:
    """Leave out what is found in a rendered text and in a file that it was made of."""
    found = set(findings)
    if not rendered:
        return found
    told = {_content(one) for one in found if one.file not in rendered}
    return {one for one in found if one.file not in rendered or _content(one) not in told}


def _content(finding: Finding) -> tuple[str, str, str, str]:
    return finding.id, finding.object, finding.path, finding.message


def part_of(obj: Object) -> str:
    """Tell why an object gets to no server as it is; empty where it does.

    Sources: kustomize and kpt keep what has their annotation to themselves; SOPS writes its
    signature beside the fields.
    """
    if text(mapping(obj.metadata.get("annotations")).get(_LOCAL_CONFIG)) == "true":
        return LOCAL
    if "mac" in mapping(obj.tree.get("sops")):
        return ENCRYPTED
    return PATCH if _is_patch(obj) else ""


def _is_patch(obj: Object) -> bool:
    """Tell whether an object is a part of one, by the members that only patches have."""
    if not obj.document.has("$"):
        return False
    stack: list[Any] = [obj.tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if any(name.startswith(_DIRECTIVES) for name in value):
                return True
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return False


def is_checked(obj: Object, context: Context) -> bool:
    """Tell whether rules look at objects of this kind."""
    served = context.api.schema(obj.api_version, obj.kind) is not None
    pods = bool(obj.pod_specs) and is_manifest(obj)
    return served or obj.in_group or obj.group == "dragoman.dev" or pods


def problems_of(obj: Object, context: Context) -> Iterator[Problem]:
    """Yield what is wrong with one object."""
    schema = context.api.schema(obj.api_version, obj.kind)
    if schema is not None or is_manifest(obj):
        yield from versions.removed(obj, context)
    if schema is None:
        yield from _without_schema(obj, context)
        return
    misfits = tuple(context.api.misfits(schema, obj.tree))
    yield from versions.leaving(obj, context) or versions.old(obj, context)
    gated = tuple(check_gates(obj, context))
    yield from gated
    yield from versions.unknown(obj, context, misfits)
    if context.any_version:
        yield from served.since(obj, context)
    shaped = list(versions.shape(misfits))
    yield from shaped
    dropped = {one.steps for one in gated if DROPS in one.message}
    # What the server drops, it does not look at.
    refused = [one for one in invalid(obj, context.api.version) if not _below(one.steps, dropped)]
    others = [one for rule in RULES_OF_OBJECTS for one in rule(obj, context)]
    yield from _once(misfits, shaped, [*refused, *others, *context.driver_configs(obj)])


def _once(
    misfits: tuple[Misfit, ...], shaped: list[Problem], problems: list[Problem]
) -> Iterator[Problem]:
    """Yield problems that are not the consequence of a wrong type or of a misspelled field."""
    wrong = {problem.steps for problem in shaped}
    unknown = {one.steps for one in misfits if one.keyword == "unknown"}
    holders = {steps[:-1] for steps in unknown}
    claims_unread = any(_CLAIMS & set(steps) for steps in wrong | unknown)
    undeclared = any(one.id == _MISSING and _NOT_DECLARED in one.message for one in problems)
    unread = {one.steps for one in problems if one.steps[-1:] == ("parameters",)}
    judged = {one.steps for one in problems if one.id == _CONFIG}
    for one in problems:
        lacks = any(words in one.message for words in _LACKS)
        consequence = (
            _below(one.steps, wrong)
            or (lacks and (one.steps in holders or one.steps[:-1] in holders))
            or (claims_unread and (one.id == _UNUSED or _NOT_DECLARED in one.message))
            or (undeclared and one.id == _UNUSED)
            or (one.id == _CONFIG and one.steps in unread)
            or (one.id == "dra/config-unused" and one.steps in judged)
        )
        if not consequence:
            yield one


def _without_schema(obj: Object, context: Context) -> Iterator[Problem]:
    """Check what is known of an object of a kind that the chosen version does not serve."""
    if not is_manifest(obj):
        return
    gone = list(served.gone(obj, context))
    yield from gone or check_kind(obj, context)
    if obj.pod_specs:
        others = [one for rule in RULES_OF_POD_TEMPLATES for one in rule(obj, context)]
        yield from _once((), [], [*invalid(obj, context.api.version), *others])
    yield from context.driver_configs(obj)


def _below(steps: tuple[str | int, ...], wrong: set[tuple[str | int, ...]]) -> bool:
    return bool(wrong) and any(steps[:length] in wrong for length in range(len(steps) + 1))


def as_failures(report: CheckReport, failures: Iterable[UnreadableFile]) -> CheckReport:
    """Return a report with further files that could not be read."""
    return replace(report, failures=tuple(sorted((*report.failures, *failures))))


def failed(report: CheckReport, *, strict: bool) -> bool:
    """Tell whether the check must fail."""
    if any(finding.severity == ERROR for finding in report.findings):
        return True
    return strict and bool(report.findings or report.skipped)
