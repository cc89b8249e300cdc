"""A run: lanes side by side, each with a node of its own; what each check says, in order."""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from dragoman import __version__
from dragoman_base import files
from dragoman_base.files import documents
from dragoman_drivers.conformance.checks import (
    FAIL,
    NOT_RUN,
    PASS,
    Check,
    CheckOutcome,
    ConformanceReport,
    FailedError,
    NotRunError,
    digest,
)
from dragoman_drivers.conformance.profile import DriverProfile
from dragoman_drivers.conformance.report import LOG
from dragoman_drivers.conformance.scenarios import Scenario, all_scenarios
from dragoman_drivers.conformance.site import CLASS, Setting, Site
from dragoman_drivers.conformance.starting import StartError
from dragoman_drivers.conformance.subject import CommandError
from dragoman_drivers.kubeletplugin.client import CallError
from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_drivers.throwaway.plane import Plane

SIDE_BY_SIDE = 4
"""Lanes at once; those that wait run beside them."""
QUICK = 6
"""Lanes at once with `--quick`, which leaves out those that wait."""
LONGEST = (
    *("restart", "upgrade", "rolling", "concurrency", "registration", "main"),
    *("mock", "variants", "checkpoint", "slices", "away", "operation"),
)
"""Lanes that begin first, since a run ends with its last one: measured, longest first."""
SERVER_FLAGS = ("--runtime-config=api/beta=true",)
"""Of the API server: policies of drivers must hold in old versions of ResourceSlices too (X1)."""
ACCOUNT = ("dragoman-conformance", "driver")
DEFAULT_RULES = (
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["*"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "deviceclasses"],
        "verbs": ["get", "list", "watch"],
    },
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/status", "resourceclaims/driver"],
        "verbs": ["get", "update", "patch", "associated-node:update", "associated-node:patch"],
    },
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
)
"""Rights of a driver whose manifests are not given."""
APPLIED = (
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "DeviceClass",
)
FOLDER = "{folder}"
"""What stands in reports for the folder of a run."""
Progress = Callable[[CheckOutcome, int, int], None]
"""Called with each outcome, how many there are, and how many there will be."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is run."""

    command: str  # Of the driver
    checks: tuple[Check, ...]  # Which ones
    profile: DriverProfile = field(default_factory=DriverProfile)  # Of the vendor
    manifests: tuple[Mapping[str, Any], ...] = ()  # Shipped with the driver
    quick: bool = False  # Whether checks that wait are left out
    version: str = ""  # Of the driver, as the user names it
    facts: Mapping[str, str] = field(default_factory=dict)  # For the report


def run(plan: RunPlan, plane: Plane, progress: Progress, *, prefix: str = "n") -> ConformanceReport:
    """Run checks against a driver on a control plane.

    Args:
        plan: What is run.
        plane: Where.
        progress: Called with each outcome, from several threads, one at a time.
        prefix: Of the names of nodes; differs between runs on one plane.

    Raises:
        StartError: The driver ended each time before it had registered and published.
    """
    account = prepare_plane(plane.api(), plan.manifests)
    with tempfile.TemporaryDirectory(prefix="dk-") as folder:
        setting = Setting(
            plane, plan.command, plan.profile, account, Path(folder), plan.quick, plan.manifests
        )
        board = Board(plan, progress)
        lanes = board.lanes()
        count = QUICK if plan.quick else SIDE_BY_SIDE + board.waiting
        with ThreadPoolExecutor(count) as threads:
            jobs = [
                threads.submit(run_lane, setting, f"{prefix}{at}", scenarios, board)
                for at, scenarios in enumerate(lanes)
            ]
            for job in jobs:
                job.result()
        error = setting.starts.hopeless
        if error and not error.rule:
            raise error
        return board.report()


class Board:
    """Collects outcomes from the threads of lanes.

    Args:
        plan: What is run.
        progress: Called with each outcome.
    """

    def __init__(self, plan: RunPlan, progress: Progress) -> None:
        self._plan = plan
        self._progress = progress
        self._lock = threading.Lock()
        self._found: dict[str, CheckOutcome] = {}
        self.driver = ""
        self.waiting = 0

    def lanes(self) -> list[list[Scenario]]:
        """Return scenarios by lane, those that wait first; note checks without one."""
        known = all_scenarios()
        lanes: dict[str, list[Scenario]] = {}
        for check in self._plan.checks:
            one = known.get(check.id)
            if one is None:
                self.add(
                    CheckOutcome(check, NOT_RUN, "this version of the kit has no scenario for it")
                )
            elif one.waits and self._plan.quick:
                self.add(CheckOutcome(check, NOT_RUN, "--quick leaves out checks that wait"))
            else:
                lanes.setdefault(f"{one.lane}{'/waits' * one.waits}", []).append(one)
        self.waiting = sum(name.endswith("/waits") for name in lanes)
        return [lanes[name] for name in sorted(lanes, key=_place)]

    def add(self, outcome: CheckOutcome) -> None:
        """Take an outcome."""
        with self._lock:
            self._found[outcome.check.id] = outcome
            self._progress(outcome, len(self._found), len(self._plan.checks))

    def check(self, scenario: Scenario) -> Check:
        """Return the check of a scenario."""
        return next(one for one in self._plan.checks if one.id == scenario.id)

    def report(self) -> ConformanceReport:
        """Return all outcomes, in order."""
        outcomes = tuple(self._found[one.id] for one in self._plan.checks)
        facts = {"kit": __version__, "checks": digest(), **self._plan.facts}
        return ConformanceReport(self.driver, self._plan.version, outcomes, facts)


def _place(lane: str) -> tuple[bool, int]:
    """Return when a lane begins: those that wait first, then those that take long."""
    place = LONGEST.index(lane) if lane in LONGEST else len(LONGEST)
    return not lane.endswith("/waits"), place


def run_lane(setting: Setting, node: str, scenarios: Sequence[Scenario], board: Board) -> None:
    """Run scenarios one after the other on one node."""
    try:
        with Site(setting, node) as site:
            for one in scenarios:
                outcome = run_one(site, one, board.check(one))
                error = setting.starts.hopeless
                if error and not error.rule:
                    return  # the run ends with this error, and has no report
                board.add(outcome)
                if site.info is not None and not board.driver:
                    board.driver = site.info.name
    except (ApiError, CommandError, OSError, urllib3.exceptions.HTTPError) as error:
        for one in scenarios:
            if one.id not in board._found:  # noqa: SLF001 — the board of this module
                board.add(
                    CheckOutcome(board.check(one), NOT_RUN, f"the node was not set up: {error}")
                )


def run_one(site: Site, scenario: Scenario, check: Check) -> CheckOutcome:
    """Bring the driver up, run one scenario, and clean up after it."""
    start = time.monotonic()
    site.steps.clear()
    status, reason = PASS, ""
    try:
        site.ready()
        reason = scenario.run(site) or ""
    except FailedError as error:
        status, reason = FAIL, str(error)
        if isinstance(error, StartError) and site.setting.starts.hopeless:
            status = FAIL if error.rule == check.id else NOT_RUN
    except NotRunError as error:
        status, reason = NOT_RUN, str(error)
    except (CallError, ApiError, OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        status, reason = FAIL, f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 — a fault of the kit must not lose other outcomes
        status, reason = NOT_RUN, f"the kit itself failed: {type(error).__name__}: {error}"
    if status == FAIL:
        site.step(f"{LOG} ends with: {site.tail()}")
    folder = str(site.setting.folder)  # of this run alone, and of no use to who reads the report
    reason = reason.replace(folder, FOLDER)
    steps = tuple(one.replace(folder, FOLDER) for one in site.steps)
    seconds = time.monotonic() - start
    with contextlib.suppress(
        CallError, ApiError, OSError, FailedError, ValueError, urllib3.exceptions.HTTPError
    ):
        site.settle()
    return CheckOutcome(check, status, reason, steps, seconds)


# Objects of a run --------------------------------------------------------------------------------


def prepare_plane(api: Api, manifests: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Create the driver's account and rights; return its namespace and name.

    The first ServiceAccount of the manifests is the driver's. Without one, an account with
    DEFAULT_RULES is made.
    """
    shipped = [one for one in manifests if one.get("kind") in APPLIED]
    account = next((one for one in shipped if one["kind"] == "ServiceAccount"), None)
    namespace, name = ACCOUNT
    if account is not None:
        name = account["metadata"]["name"]
        namespace = account["metadata"].get("namespace") or namespace
    meta = {"name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT[0]}
    subject = {"kind": "ServiceAccount", **meta}
    own: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": CLASS},
            "spec": {},
        },
    ]
    if account is None:
        common = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": ACCOUNT[0]}}
        own.append({**common, "kind": "ClusterRole", "rules": [*DEFAULT_RULES]})
        own.append({**common, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]})
    ordered = sorted(shipped, key=lambda one: APPLIED.index(one["kind"]))
    for manifest in (*own, *ordered):
        placed = dict(manifest)
        if placed["kind"] in {"ServiceAccount", "Role", "RoleBinding"}:
            placed["metadata"] = {"namespace": namespace, **placed["metadata"]}
        try:
            api.create(placed)
        except ApiError as error:
            if error.code != 409:
                raise
    return namespace, name


def read_manifests(paths: Iterable[Path]) -> tuple[Mapping[str, Any], ...]:
    """Return the objects of YAML files; raise ValueError for what is not YAML."""
    found: list[Mapping[str, Any]] = []
    for path in paths:
        try:
            trees = documents.trees(path)
        except (OSError, files.UnreadableError) as error:
            raise ValueError(f"{path}: {files.reason(error)}") from None
        for document in trees:
            if isinstance(document, dict):
                items = document.get("items") if document.get("kind") == "List" else None
                found += items if isinstance(items, list) else [document]
    return tuple(found)
