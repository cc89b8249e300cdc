"""`dragoman conformance`: whether a DRA driver behaves."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.terminal import line as one_line
from dragoman.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dragoman.drivers.conformance.checks import Check, Outcome, Report
    from dragoman.drivers.conformance.running import Plan

_EXAMPLES: Final = """\
\b
Examples:
  dragoman conformance --driver-command 'my-driver --node {node} --kubeconfig {kubeconfig}
    --plugins {plugins_dir} --registry {registry_dir} --cdi {cdi_dir}'
  dragoman conformance --driver-command … --profile profile.yaml --manifests chart.yaml
  dragoman conformance --driver-command … --quick --junit report.xml
  dragoman conformance --list
  dragoman conformance --explain I3
  dragoman conformance --kubeconfig ~/.kube/config --driver gpu.nvidia.com

\b
Exit status:
  0  every must that was run passed; the report says whether any was not run
  1  a must failed
  2  bad input, no control plane, or no check that could be run
"""
EXTRA: Final = "in a checkout of dragoman, pip install '.[conformance]'"
_FILE = click.Path(path_type=Path, dir_okay=False)


def _file_option(name: str, title: str) -> Callable[[Any], Any]:
    return click.option(name, type=_FILE, help=f"Write the report as {title} to this file.")


@click.command(epilog=_EXAMPLES)
@click.option(
    "--driver-command",
    default="",
    metavar="CMD",
    help="Starts the driver; placeholders: "
    "{kubelet_dir} {plugins_dir} {registry_dir} {cdi_dir} {node} {kubeconfig} {instance} "
    "{http_port}.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Configs that work and fail, and how a device fails.",
)
@click.option(
    "--manifests",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="The driver's RBAC and policies as shipped; repeatable.",
)
@click.option("--driver-version", default="", help="For the report.")
@click.option(
    "--driver-image",
    multiple=True,
    metavar="IMAGE",
    help="Of this version, for --verdict: NAME:TAG or NAME@sha256:…; repeatable.",
)
@click.option("--list", "listing", is_flag=True, help="List the checks and exit.")
@click.option("--explain", default="", metavar="ID", help="Explain a check and exit.")
@click.option("--only", multiple=True, metavar="ID", help="Checks or groups to run; repeatable.")
@click.option("--skip", multiple=True, metavar="ID", help="Checks or groups to leave out.")
@click.option(
    "--level",
    type=click.Choice(["must", "should", "info"]),
    default="info",
    show_default=True,
    help="The lowest level that is run.",
)
@click.option("--quick", is_flag=True, help="Leave out checks that wait: a minute in all.")
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="Run all so many times.")
@click.option(
    "--assets",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with etcd and kube-apiserver.",
)
@click.option("--kubernetes", default="", metavar="VERSION", help="Release to download if needed.")
@_file_option("--json", "JSON")
@_file_option("--junit", "JUnit XML")
@_file_option("--markdown", "Markdown")
@_file_option("--verdict", "verdict file")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read what is published on this cluster instead, and change nothing.",
)
@click.option("--context", help="Of --kubeconfig.")
@click.option("--driver", default="", help="Whose slices --kubeconfig checks.")
def conformance(**options: Any) -> None:
    """Check whether a DRA driver behaves, against a pretended kubelet and scheduler.

    The driver runs on a throwaway control plane, in folders and namespaces of its own.
    """
    from dragoman.drivers.conformance import checks  # noqa: PLC0415 — heavy, not for --help

    try:
        selected = checks.select(options["only"], options["skip"], options["level"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if options["listing"]:
        for one in selected:
            click.echo(f"{one.id:<4}{one.level:<7}{one_line(one.title)}")
        return
    if options["explain"]:
        _explain(options["explain"])
        return
    try:
        run = _published if options["kubeconfig"] else _run
        report = run(options, selected)
    except ModuleNotFoundError as error:
        if error.name != "grpc":
            raise
        raise click.ClickException(f"grpcio is not installed: {EXTRA}") from None
    _finish(report, options)


def _explain(name: str) -> None:
    from dragoman.drivers.conformance import checks  # noqa: PLC0415 — heavy, not for --help
    from dragoman.words.spelling import closest  # noqa: PLC0415 — as above

    found = checks.by_id().get(name.upper())
    if found is None:
        near = closest(name.upper(), checks.by_id())
        raise click.UsageError(f"unknown check {name!r}{f'; did you mean {near}?' if near else ''}")
    click.echo(f"{found.id} ({found.level}), {found.group}\n\nRule: {found.title}.")
    for title, text in (("Source", found.source), ("Known faults", found.known)):
        if text:
            click.echo(f"{title}: {text}.")


def _run(options: Mapping[str, Any], selected: Sequence[Check]) -> Report:
    from dragoman.drivers.conformance import running, subject  # noqa: PLC0415 — heavy, not for --help
    from dragoman.drivers.throwaway import assets  # noqa: PLC0415 — as above
    from dragoman.drivers.throwaway.plane import Plane, PlaneError  # noqa: PLC0415 — as above

    if not options["driver_command"]:
        raise click.UsageError("--driver-command is missing: it starts the driver")
    try:
        subject.validate(options["driver_command"])
        plan = _plan(options, selected)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    version = options["kubernetes"] or assets.KUBERNETES
    version = f"v{version.removeprefix('v')}"
    try:
        found = assets.find(options["assets"], version, say)
        say("starting etcd and kube-apiserver")
        start = time.monotonic()
        with Plane(found, running.SERVER_FLAGS) as plane:
            say(f"the control plane is ready after {time.monotonic() - start:.0f} s")
            report = running.run(plan, plane, _progress)
            for at in range(1, options["repeat"]):
                again = running.run(plan, plane, _progress, prefix=f"r{at}n")
                report = _merged(report, again)
            return report
    except (assets.MissingAssetError, PlaneError) as error:
        say(f"error: {error}")
        sys.exit(2)


def _plan(options: Mapping[str, Any], selected: Sequence[Check]) -> Plan:
    import yaml  # noqa: PLC0415 — heavy, not for --help

    from dragoman.drivers.conformance import profile, running  # noqa: PLC0415 — as above

    path = options["profile"]
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8")) if path else None
        parsed = profile.parse(tree)
    except (yaml.YAMLError, profile.ProfileError, UnicodeDecodeError) as error:
        raise ValueError(f"--profile {path}: {error}") from None
    return running.Plan(
        command=options["driver_command"],
        checks=tuple(selected),
        profile=parsed,
        manifests=running.read_manifests(options["manifests"]),
        quick=options["quick"],
        version=options["driver_version"],
    )


def _progress(outcome: Outcome, done: int, total: int) -> None:
    from dragoman.drivers.conformance.report import line  # noqa: PLC0415 — heavy, not for --help

    say(f"[{done:>3}/{total}] {line(outcome)}")


def _merged(first: Report, again: Report) -> Report:
    """Return the first report; a check whose status is not always the same fails."""
    from dataclasses import replace  # noqa: PLC0415 — for --repeat

    outcomes = tuple(
        one
        if one.status == other.status
        else replace(
            other,
            status="fail",
            reason=f"{one.status}, then {other.status}: {one.reason} {other.reason}",
        )
        for one, other in zip(first.outcomes, again.outcomes, strict=True)
    )
    return replace(first, outcomes=outcomes)


def _published(options: Mapping[str, Any], selected: Sequence[Check]) -> Report:
    """Check what a cluster's slices say, by reading alone."""
    from dragoman.drivers.conformance import cluster  # noqa: PLC0415 — heavy, not for --help
    from dragoman.drivers.throwaway.api import Api, ApiError  # noqa: PLC0415 — as above
    from dragoman.kube.credentials.files import ConnectionSettingsError  # noqa: PLC0415 — as above
    from dragoman.kube.kubeconfig import Credentials  # noqa: PLC0415 — as above

    try:
        api = Api.of(Credentials(options["kubeconfig"], options["context"]))
        return cluster.check(api.list("resourceslices"), options["driver"], selected)
    except (ConnectionSettingsError, ApiError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _finish(report: Report, options: Mapping[str, Any]) -> None:
    import json  # noqa: PLC0415 — heavy, not for --help

    from dragoman.drivers.conformance import checks  # noqa: PLC0415 — as above
    from dragoman.drivers.conformance import report as reports  # noqa: PLC0415 — as above

    for name, render in reports.FORMATS.items():
        if path := options[name]:
            path.write_text(render(report), encoding="utf-8")
    if path := options["verdict"]:
        verdict = reports.verdict_file(report, options["driver_image"])
        path.write_text(json.dumps(verdict, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for one in report.outcomes:
        click.echo(reports.line(one))
    for one in report.failed:
        click.echo(
            f"\n{one.check.id} {reports.plain(one.check.title)}\n  {reports.plain(one.reason)}"
        )
        for at, step in enumerate(one.steps, 1):
            click.echo(f"  {at}. {reports.plain(step)}")
    name = reports.plain(report.driver) or "the driver"
    click.echo(f"\n{name}: {report.verdict}. {reports.summary(report)}.")
    if report.verdict == checks.UNDECIDED:
        click.echo(
            "A must that was not run leaves the verdict open; the table says what is missing."
        )
    if not report.count(checks.PASS) + report.count(checks.FAIL):
        click.echo("No check was run.")
        sys.exit(2)
    sys.exit(1 if report.count(checks.FAIL, checks.MUST) else 0)
