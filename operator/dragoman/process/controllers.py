"""Which controllers run: one row for each; `dragoman.controllers.<name>.start` says what it needs.

A row whose API the server does not serve yet is started once it does. Controllers that need CEL,
the allocator or JSON Schema, which take most of the time to load, come after those of claims.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from dragoman import surroundings
from dragoman.controllers.process import Process
from dragoman.kube.discovery import wait_optional, wait_served
from dragoman.kube.resources import (
    CLUSTERTEMPLATES,
    DEVICEMAINTENANCES,
    DEVICEPREEMPTIONS,
    DRIVERCONFIGSCHEMAS,
    Resource,
)
from dragoman.settings import Settings

POOL_STATUS_REQUESTS = "resourcepoolstatusrequests"


@dataclass(frozen=True, slots=True)
class Row:
    """A controller."""

    name: str  # Of its package in `dragoman.controllers`.
    wanted: Callable[[Settings], bool]  # Whether settings want it
    # The API that must be served first: one of dragoman's, or the plural of one of resource.k8s.io
    # that a server need not have; None for none.
    waits_for: Resource | str | None = None
    # Whether it only runs while this process leads; others run on every replica, and ask before
    # they write
    leader: bool = False


CONTROLLERS = (
    Row("claims", lambda one: one.claims != "off", leader=True),
    # A fault of settings about schemas ends the start.
    Row("driverconfigschemas", lambda one: one.requires_schemas),
    Row("driverconfigschemas", lambda one: not one.requires_schemas, DRIVERCONFIGSCHEMAS),
    Row("webhook", lambda one: one.webhook is not None),
    Row("evictions", lambda one: one.evictions != "off", leader=True),
    Row("poolreports", lambda one: one.inventory_reports, leader=True),
    Row("explain", lambda one: one.explains, leader=True),
    Row("poolstatus", lambda one: one.pool_status != "off", POOL_STATUS_REQUESTS),
    Row("clustertemplates", lambda one: one.cluster_templates, CLUSTERTEMPLATES),
    Row("findings", lambda one: one.findings),
    Row("preemption", lambda one: one.preemption != "off", DEVICEPREEMPTIONS),
    Row("maintenance", lambda one: one.maintenance, DEVICEMAINTENANCES),
)
"""In the order of their start."""
IN_WEBHOOK = frozenset({"driverconfigschemas", "webhook"})
"""What the process of `dragoman webhook` runs of them."""
_importing = threading.Lock()


async def start_controllers(process: Process, rows: Iterable[Row] = CONTROLLERS) -> None:
    """Start the controllers that settings want; those that wait for an API start later."""
    for row in rows:
        here = process.settings.controllers or row.name in IN_WEBHOOK
        if not here or not row.wanted(process.settings):
            continue
        if row.waits_for is None:
            await _start(row, process)
        else:
            process.manager.spawn_once(_start_when_served(row, process))


async def load(module: str) -> ModuleType:
    """Import a module in a thread, so that claims are reconciled meantime."""
    return await surroundings.in_thread(_import, module)


def _import(module: str) -> ModuleType:
    # Two threads that import packages which need each other deadlock; Python then hands one of
    # them a module that is not complete.
    with _importing:
        return import_module(module)


async def _start(row: Row, process: Process) -> None:
    module = await load(f"dragoman.controllers.{row.name}.start")
    run = await module.start(process)
    if row.leader:
        process.manager.leaders.append(run)
    else:
        process.manager.spawn(row.name, run())


async def _start_when_served(row: Row, process: Process) -> None:
    if isinstance(row.waits_for, Resource):
        await wait_served(process.client, row.waits_for)
    elif row.waits_for is not None:
        await wait_optional(process.client, row.waits_for)
    await _start(row, process)
