"""`dragoman check`: find in manifests what can never work, without a cluster."""

import gc
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dragoman.cli.terminal import plain, say
from dragoman_base import versions
from dragoman_base.versions import NEXT, target
from dragoman_base.words import counted
from dragoman_toolkit.check import output as formats
from dragoman_toolkit.check.configs import ConfigChecker
from dragoman_toolkit.check.explaining import explained
from dragoman_toolkit.check.kustomizations import (
    HELM,
    KUSTOMIZE,
    chart_folders,
    kustomization_folders,
    layout,
    note,
    render,
)
from dragoman_toolkit.check.settings import (
    CATALOG,
    CheckSettings,
    feature_gates,
    find_settings,
    load_settings,
    served_versions,
    severities,
)
from dragoman_toolkit.check.writing import write
from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.finding import Finding, UnreadableFile
from dragoman_toolkit.linting.findings.fixes import Fixed, difference, fixed
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices, given
from dragoman_toolkit.linting.manifests.documents import ManifestDocument
from dragoman_toolkit.linting.manifests.manifestobjects import Object, objects
from dragoman_toolkit.manifests import STANDARD_INPUT, texts
from dragoman_toolkit.unusable import UnusableInput

CLEAN, VIOLATIONS, UNUSABLE = 0, 1, 2
CLUSTER = "cluster"
_COMMENTED = re.compile(r"\A\s*(?://|/\*|[{\[])(?s:.*?)(?:^[ \t]*//|/\*|,\s*[}\]])", re.MULTILINE)

_EXAMPLES = """\
\b
Examples:
  dragoman check manifests/ claim.yaml 'overlays/**/*.yaml'
  helm template . | dragoman check -
  dragoman check manifests/ --variable gpu.nvidia.com:MPSSupport=true
  dragoman check claim.yaml --schemas catalog --schemas my-schemas/
  dragoman check manifests/ --rules dra/api-old=off --strict -o github
  dragoman check manifests/ --diff        # what --fix would change
  dragoman check manifests/ --fix --unsafe-fixes
  dragoman check apps/ --kustomize --helm   # what kustomizations and charts render too
  dragoman check --explain dra/cel-unguarded
  dragoman check claim.yaml --slices cluster
  dragoman check manifests/ --target 1.38   # what that version does not serve any more

\b
Exit status:
  0  clean; warnings do not count unless --strict is given
  1  errors
  2  unusable input: an unreadable file, a schema that does not compile, no object at all
"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was typed, with the settings file behind it."""

    names: tuple[str, ...]
    exclude: tuple[str, ...]
    schemas: tuple[str, ...]
    variables: tuple[str, ...]
    slices: tuple[str, ...]
    rules: dict[str, str]
    kubernetes: str
    target: str
    strict: bool
    complete: bool
    cluster: bool
    kubeconfig: Path | None
    context: str | None
    kustomize: bool
    helm: bool
    served: frozenset[str]
    gates: dict[str, bool]


@dataclass(frozen=True, slots=True)
class Fixes:
    """What is to be done about findings that can be corrected."""

    write: bool  # Whether files change
    show: bool  # Whether the changes are printed
    unsafe: bool  # Whether those belong to it that write what can only be meant

    def of(self, checked: engine.Checked, name: str) -> list[engine.Fixable]:
        """Return the findings of a file that are corrected."""
        found = checked.fixable.get(name, [])
        return [one for one in found if self.unsafe or one.problem.safe]


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[FILE|DIR|PATTERN|-]...")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Manifests to check, as the arguments.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files or folders.")
@click.option(
    "--schemas",
    multiple=True,
    metavar="FILE|DIR|catalog|DRIVER@RELEASE",
    help="DriverConfigSchemas to check with; later ones override earlier ones of the same name."
    f"  [default: {CATALOG}]",
)
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="SCHEMA:NAME=VALUE",
    help="Set a variable of a schema, such as a feature gate of the driver.",
)
@click.option(
    "--slices",
    multiple=True,
    metavar="FILE|DIR|cluster",
    help="ResourceSlices whose devices selectors are evaluated on.",
)
@click.option("--rules", multiple=True, metavar="RULE=off|warning|error", help="Change severities.")
@click.option(
    "--kubernetes",
    metavar="VERSION",
    help=f"Version of the cluster.  [default: {versions.name(versions.RELEASED)}, with --target "
    "the one before it]",
)
@click.option(
    "--target",
    metavar="VERSION",
    help="Version that the cluster is upgraded to: what it does not serve any more is an error, "
    f"what later ones will not a warning; up to {versions.name(NEXT)}.",
)
@click.option(
    "--feature-gates",
    multiple=True,
    metavar="GATE=true|false",
    help="Feature gates that the servers have set, as their own flag.",
)
@click.option(
    "--runtime-config",
    multiple=True,
    metavar="GROUP/VERSION",
    help="Versions that are off by default and that the servers serve, as their own flag.",
)
@click.option("--complete", is_flag=True, help="Report names that no object of the input has.")
@click.option("--cluster", is_flag=True, help="Look names up in the cluster too; read-only.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="For --cluster."
)
@click.option("--context", help="Context of the kubeconfig.")
@click.option(
    "--kustomize",
    is_flag=True,
    help="Check what the found kustomizations render too; needs kustomize or kubectl.",
)
@click.option("--helm", is_flag=True, help="Check what the found charts render too; needs helm.")
@click.option("--strict", is_flag=True, help="Fail for warnings and for what was skipped.")
@click.option(
    "--fix",
    is_flag=True,
    help="Fix files in place; all else in them stays.",
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="Let --fix and --diff also write what can only be meant: nearest names, guards, units.",
)
@click.option("--diff", is_flag=True, help="Print what --fix would change.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file.  [default: .dragoman.yaml, here or above]",
)
@click.option("--explain", metavar="RULE", help="Print the page of a rule, with examples.")
@click.option("--list-rules", is_flag=True, help="Print the rules, with the page of each.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(list(formats.FORMATS)),
    default="text",
    show_default=True,
    help="Form of the output.",
)
def check(**options: Any) -> None:
    """Find in manifests what can never work: fields, selectors, references, driver configs.

    Pods and everything that creates pods, ResourceClaims and their templates, DeviceClasses,
    ResourceSlices, DeviceTaintRules and DriverConfigSchemas are checked; other objects are left
    alone.
    """
    if options["list_rules"]:
        click.echo(formats.rules(options["output"]))
        return
    # The command ends soon; collecting cycles would double the time that reading takes.
    gc.disable()
    try:
        if options["explain"]:
            click.echo(explained(options["explain"]))
            return
        arguments = _arguments(options)
        fixes = Fixes(options["fix"], options["diff"], options["unsafe_fixes"])
        status = _run(arguments, options["output"], fixes)
    except UnusableInput as error:
        click.echo(plain(f"Error: {error}"), err=True)
        status = UNUSABLE
    finally:
        gc.enable()
    sys.exit(status)


def _arguments(options: dict[str, Any]) -> Arguments:
    names = (*options["paths"], *options["filenames"])
    if not names:
        raise UnusableInput("name files or folders to check, or - for standard input")
    if options["fix"] and STANDARD_INPUT in names:
        raise UnusableInput("--fix changes files in place; for standard input use --diff")
    path = options["config"] or find_settings(Path.cwd())
    settings = load_settings(path) if path else CheckSettings()
    return Arguments(
        names,
        (*settings.exclude, *options["exclude"]),
        options["schemas"] or (CATALOG, *settings.schemas),
        (*settings.variables, *options["variables"]),
        options["slices"] or settings.slices,
        {**settings.rules, **severities(options["rules"], "--rules")},
        options["kubernetes"] or settings.kubernetes,
        options["target"] or settings.target,
        options["strict"] or settings.strict,
        options["complete"] or options["cluster"] or settings.complete,
        options["cluster"],
        options["kubeconfig"],
        options["context"],
        options["kustomize"],
        options["helm"],
        served_versions((*settings.runtimeConfig, *options["runtime_config"])),
        feature_gates((*settings.featureGates, *options["feature_gates"])),
    )


def _run(arguments: Arguments, output: str, fixes: Fixes) -> int:
    sources, failures, notes = _sources(arguments)
    check_one = _Check(arguments)
    checked = check_one(sources)
    done: tuple[Finding, ...] = ()
    if fixes.show:
        return _show_difference(sources, checked, failures, fixes)
    if fixes.write:
        sources, done, left = _fix(sources, checked, arguments.names, fixes)
        failures += left
        checked = check_one(sources)
    report = engine.as_failures(checked.report, failures)
    report = replace(report, fixed=done, notes=(*report.notes, *notes))
    if text := formats.FORMATS[output](report):
        click.echo(text)
    if output != "json":
        _say_fixed(done)
        for said in report.notes:
            say(f"note: {said}")
        say(report.summary())
    return _status(report, sources, strict=arguments.strict)


def _show_difference(
    sources: list[engine.CheckedText],
    checked: engine.Checked,
    failures: list[UnreadableFile],
    fixes: Fixes,
) -> int:
    changes = list(_changes(sources, checked, fixes))
    for source, _, outcome in changes:
        text = difference(source.name, source.text, outcome.text)
        click.echo(plain(text, keep="\n\t"), nl=False)
    failures += [one for source, _, outcome in changes for one in _refused(source, outcome)]
    for failure in failures:
        say(f"{failure.place}: error: {failure.message}")
    changed = any(source.text != outcome.text for source, _, outcome in changes)
    return UNUSABLE if failures else VIOLATIONS if changed else CLEAN


def _changes(
    sources: list[engine.CheckedText], checked: engine.Checked, fixes: Fixes
) -> Iterator[tuple[engine.CheckedText, list[engine.Fixable], Fixed]]:
    for source in sources:
        if source.rendered:
            continue  # what it was made of is to be changed
        if found := fixes.of(checked, source.name):
            yield source, found, fixed(source.text, ((one.object, one.problem) for one in found))


def _refused(source: engine.CheckedText, outcome: Fixed) -> Iterator[UnreadableFile]:
    for document, reason in outcome.refused:
        yield UnreadableFile(source.name, document.line + 1, 1, f"not fixed: {reason}")


def _fix(
    sources: list[engine.CheckedText],
    checked: engine.Checked,
    names: tuple[str, ...],
    fixes: Fixes,
) -> tuple[list[engine.CheckedText], tuple[Finding, ...], list[UnreadableFile]]:
    """Change files; return what they say now, what was corrected, and what was not."""
    now = {source.name: source for source in sources}
    done: list[Finding] = []
    failures: list[UnreadableFile] = []
    for source, found, outcome in _changes(sources, checked, fixes):
        failures += _refused(source, outcome)
        left = {document.start for document, _ in outcome.refused}
        corrected = [one.finding for one in found if one.object.document.start not in left]
        if not corrected:
            continue
        if failure := write(source.name, source.text, outcome.text, names):
            failures.append(failure)
            continue
        done += corrected
        now[source.name] = engine.read(source.name, outcome.text)
    return list(now.values()), tuple(done), failures


def _say_fixed(done: tuple[Finding, ...]) -> None:
    for one in done:
        say(f"{one.file}:{one.line}:{one.column}: fixed: {one.object}: {one.message} [{one.id}]")
    if done:
        files = len({one.file for one in done})
        say(f"fixed {counted(len(done), 'finding')} in {counted(files, 'file')}")


def _status(report: Any, sources: list[engine.CheckedText], *, strict: bool) -> int:
    if report.failures:
        return UNUSABLE
    if not any(one.documents or one.template or one.left for one in sources):
        click.echo("Error: no object in the input", err=True)
        return UNUSABLE
    return VIOLATIONS if engine.failed(report, strict=strict) else CLEAN


def _sources(
    arguments: Arguments,
) -> tuple[list[engine.CheckedText], list[UnreadableFile], tuple[str, ...]]:
    """Read the files, render what is asked for, and say what else could be rendered."""
    sources: list[engine.CheckedText] = []
    failures: list[UnreadableFile] = []
    for one in texts(arguments.names, arguments.exclude):
        if isinstance(one, UnreadableFile):
            failures.append(one)
        else:
            source = engine.read(*one)
            # Settings of editors are JSON with comments, for one.
            if source.failure and "apiVersion" not in source.text:
                named = source.name in arguments.names and not _COMMENTED.search(source.text)
                source.left = "" if named else engine.NO_MANIFEST
                source.failure = source.failure if named else None
            sources.append(source)
    around = layout(sources)
    for source in sources:
        source.left = source.left or around.part(source.name)
        source.completed = around.completed(source.name)
    folders = {
        KUSTOMIZE: kustomization_folders(around, (source.name for source in sources)),
        HELM: chart_folders(around),
    }
    asked = {KUSTOMIZE: arguments.kustomize, HELM: arguments.helm}
    notes = tuple(
        said for one, found in folders.items() if (said := note(one, found, asked=asked[one]))
    )
    for renderer, found in folders.items():
        for rendered in render(renderer, found) if asked[renderer] else ():
            if isinstance(rendered, UnreadableFile):
                failures.append(rendered)
            else:
                sources.append(rendered)
    if arguments.helm and not failures:
        # What a chart renders stands for its templates.
        charts = set(folders[HELM]) if HELM.command(Path()) else set()
        sources = [
            one for one in sources if not one.template or charts.isdisjoint(Path(one.name).parents)
        ]
    return sources, failures, notes


def _before(target: str) -> versions.Version:
    """Return the version of a cluster that is not named: one before the target of its upgrade."""
    if not target:
        return versions.RELEASED
    try:
        goal = versions.parse(target)
    except ValueError:  # reported where targets are read
        return versions.RELEASED
    return max((one for one in versions.KNOWN if one < goal), default=versions.OLDEST)


class _Check:
    """The check with everything that stays the same between two runs."""

    def __init__(self, arguments: Arguments) -> None:
        try:
            asked = arguments.kubernetes
            version = versions.parse(asked) if asked else _before(arguments.target)
        except ValueError as error:
            raise UnusableInput(f"--kubernetes: {error}") from None
        if version not in versions.KNOWN:
            listed = ", ".join(map(versions.name, versions.KNOWN))
            raise UnusableInput(f"--kubernetes: Kubernetes {asked} is not known; known: {listed}")
        try:
            goal = target(arguments.target) if arguments.target else None
        except ValueError as error:
            raise UnusableInput(f"--target: {error}") from None
        self._api = api_of(version)
        self._arguments = arguments
        self._known = tuple(_cluster_objects(arguments))
        self._devices = KnownDevices(tuple(given(_slices(arguments, self._known))))
        self._options = engine.CheckOptions(
            arguments.rules,
            arguments.complete,
            any_version=not arguments.kubernetes,
            target=goal,
            served=arguments.served,
            gates=arguments.gates,
        )

    def __call__(self, sources: list[engine.CheckedText]) -> engine.Checked:
        configs = ConfigChecker(self._arguments.schemas, self._arguments.variables)
        checked = engine.check(
            sources,
            self._api,
            self._devices,
            self._options,
            driver_configs=configs,
            known=self._known,
        )
        skipped = Counter(checked.report.skipped) + configs.skipped
        report = replace(checked.report, configs=configs.configs, skipped=dict(skipped))
        return replace(checked, report=report)


def _slices(arguments: Arguments, known: Iterable[Object]) -> Iterator[dict[str, Any]]:
    if CLUSTER in arguments.slices or arguments.cluster:
        yield from (one.tree for one in known if one.kind == "ResourceSlice")
    files = [name for name in arguments.slices if name != CLUSTER]
    for one in texts(files):
        if isinstance(one, UnreadableFile):
            raise UnusableInput(f"--slices: {one}")
        source = engine.read(*one)
        if source.failure:
            raise UnusableInput(f"--slices: {source.failure}")
        found = [tree for text in source.documents for tree in objects(source.name, text)]
        slices = [one.tree for one in found if one.kind == "ResourceSlice"]
        if not slices:
            raise UnusableInput(f"--slices: {source.name}: no ResourceSlice in it")
        yield from slices


def _cluster_objects(arguments: Arguments) -> Iterator[Object]:
    if not arguments.cluster and CLUSTER not in arguments.slices:
        return
    try:
        from dragoman_toolkit.clusterobjects import read_cluster  # noqa: PLC0415 — the client is heavy
    except ImportError:
        raise UnusableInput(
            "this archive cannot ask a cluster: install dragoman (https://dragoman.dev/install)"
        ) from None

    everything = arguments.cluster
    try:
        found = read_cluster(arguments.kubeconfig, arguments.context, everything=everything)
    except click.ClickException as error:
        raise UnusableInput(f"the cluster: {error.message}") from error
    for tree in found:
        yield Object(CLUSTER, ManifestDocument(tree, "", 0, 0), (), tree)
