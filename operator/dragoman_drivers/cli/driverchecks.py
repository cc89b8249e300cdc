"""Runs the checks of `dragoman conformance`, and prints what they found."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.terminal import line as one_line
from dragoman.cli.terminal import say
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials.files import ConnectionSettingsError
from dragoman.kube.kubeconfig import Credentials
from dragoman_base import files
from dragoman_base.files import documents
from dragoman_drivers.conformance import checks, cluster, profile, subject
from dragoman_drivers.conformance import report as reports
from dragoman_drivers.conformance.report import line
from dragoman_drivers.conformance.starting import StartError
from dragoman_drivers.throwaway import assets
from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_drivers.throwaway.plane import Plane, PlaneError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dragoman_drivers.conformance.checks import Check, CheckOutcome, ConformanceReport
    from dragoman_drivers.conformance.running import RunPlan


def run(options: Mapping[str, Any]) -> None:
    """List, explain or run checks, and end with the exit status."""
    try:
        selected = checks.select(options["only"], options["skip"], options["level"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if options["listing"]:
        for one in selected:
            click.echo(f"{one.id:<4}{one.level:<7}{one_line(one.title)}")
    elif options["explain"]:
        _explain(options["explain"])
    else:
        _finish((_published if options["kubeconfig"] else _run)(options, selected), options)


def _explain(name: str) -> None:
    found = checks.by_id().get(name.upper())
    if found is None:
        raise click.UsageError(f"--explain: {checks.misspelt(name)}")
    click.echo(f"{found.id} ({found.level}), {found.group}\n\nRule: {found.title}.")
    sections = (("Source", found.source), ("Known faults", found.known))
    for title, text in (*sections, ("To change", found.change.rstrip("."))):
        if text:
            click.echo(f"{title}: {text}.")


def _run(options: Mapping[str, Any], selected: Sequence[Check]) -> ConformanceReport:
    from dragoman_drivers.conformance import running  # noqa: PLC0415 — needs grpc

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
    except (assets.MissingAssetError, PlaneError, StartError) as error:
        say(f"error: {error}")
        sys.exit(2)


def _plan(options: Mapping[str, Any], selected: Sequence[Check]) -> RunPlan:
    from dragoman_drivers.conformance import running  # noqa: PLC0415 — needs grpc

    path = options["profile"]
    try:
        parsed = profile.parse(documents.tree(path) if path else None)
    except (OSError, files.UnreadableError) as error:
        raise ValueError(f"--profile {path}: {files.reason(error)}") from None
    except profile.ProfileError as error:
        raise ValueError(f"--profile {path}: {error}") from None
    return running.RunPlan(
        command=options["driver_command"],
        checks=tuple(selected),
        profile=parsed,
        manifests=running.read_manifests(options["manifests"]),
        quick=options["quick"],
        version=options["driver_version"],
    )


def _progress(outcome: CheckOutcome, done: int, total: int) -> None:
    say(f"[{done:>3}/{total}] {line(outcome)}")


def _merged(first: ConformanceReport, again: ConformanceReport) -> ConformanceReport:
    """Return the first report; a check whose status is not always the same fails."""
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


def _published(options: Mapping[str, Any], selected: Sequence[Check]) -> ConformanceReport:
    """Check what a cluster's slices say, by reading alone."""
    try:
        api = Api.of(Credentials(ConnectionOptions(options["kubeconfig"], options["context"])))
        return cluster.check(api.list("resourceslices"), options["driver"], selected)
    except (ConnectionSettingsError, ApiError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _finish(report: ConformanceReport, options: Mapping[str, Any]) -> None:
    for name, render in reports.FORMATS.items():
        if path := options[name]:
            path.write_text(render(report), encoding="utf-8")
    if path := options["verdict"]:
        verdict = reports.verdict_file(report, options["driver_image"])
        path.write_text(json.dumps(verdict, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for text in reports.as_text(report):
        click.echo(one_line(text))
    if not report.count(checks.PASS) + report.count(checks.FAIL):
        click.echo("No check was run.")
        sys.exit(2)
    undecided = 0 if options["allow_undecided"] else 3
    sys.exit({checks.NOT_CONFORMANT: 1, checks.UNDECIDED: undecided}.get(report.verdict, 0))
