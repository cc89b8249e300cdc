"""Publishes and prepares what `dragoman pretend` pretends."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.terminal import say
from dragoman.inventory.snapshots import snapshot
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials.files import ConnectionSettingsError
from dragoman.kube.kubeconfig import Credentials
from dragoman_base.files import UnreadableError, opened, reason
from dragoman_drivers.pretend import faults, guard, shapes
from dragoman_drivers.pretend.slices import PretendPool, recorded_drivers, recorded_pools
from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_drivers.throwaway.plane import is_throwaway
from dragoman_toolkit.dra.cluster import files
from dragoman_toolkit.unusable import UnusableInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dragoman_configs.compile.registry import Registry
    from dragoman_drivers.pretend.driver import Driver
    from dragoman_drivers.pretend.running import Pretender


def run(options: Mapping[str, Any], kind: type[Driver] | None = None) -> None:
    """List what is known, or publish until a signal ends the process."""
    if options["list_faults"] or options["list_shapes"]:
        _list(options)
        return
    _run(options, kind)


def _list(options: Mapping[str, Any]) -> None:
    if options["list_shapes"]:
        click.echo("\n".join(shapes.known()))
        return
    for name, text in faults.CONDITIONS.items():
        click.echo(f"{name}=VALUE\t{text}")


def _run(options: Mapping[str, Any], kind: type[Driver] | None) -> None:
    from dragoman_drivers.pretend import running  # noqa: PLC0415 — needs grpc

    try:
        misbehaving = faults.parse(options["faults"], kind.further if kind else faults.NONE)
    except faults.FaultError as error:
        raise click.UsageError(f"--fault: {error}") from None
    driver, pools = _pools(options)
    schemas = _schemas(options, driver)  # before anything is created
    name = pools[0].driver
    try:
        api = Api.of(Credentials(ConnectionOptions(options["kubeconfig"], options["context"])))
    except (ConnectionSettingsError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if not name.startswith(guard.PREFIX):
        _refuse(api, name, options)
    running.log_to_stderr()
    nodes = running.PretendNodes(api, tuple(dict.fromkeys(pool.node for pool in pools)))
    if options["create_nodes"]:
        nodes.create()
    elif options["kubelet_dir"] is None and (missing := _missing_nodes(api, nodes.names)):
        raise click.UsageError(f"Node {missing} does not exist: --create-nodes creates it")
    start = time.monotonic()
    count = sum(len(pool.devices) for pool in pools)

    def ready() -> None:
        seconds = time.monotonic() - start
        say(f"{name}: {count} devices of {len(pools)} nodes published in {seconds:.1f} s")

    try:
        running.run(_pretender(api, driver, pools, options, schemas, kind, misbehaving), ready)
    finally:
        if options["create_nodes"]:
            nodes.delete()


def _pretender(  # noqa: PLR0913, PLR0917 — the parts of a run
    api: Api,
    driver: str,
    pools: Sequence[PretendPool],
    options: Mapping[str, Any],
    schemas: Registry | None,
    kind: type[Driver] | None,
    misbehaving: faults.Faults,
) -> Pretender:
    from dragoman_drivers.pretend import configs, running  # noqa: PLC0415 — grpc, CEL
    from dragoman_drivers.pretend.driver import Driver  # noqa: PLC0415 — grpc

    if options["kubelet_dir"] is None:
        return running.Slices(api, pools)
    made = (kind or Driver)(
        api,
        options["kubelet_dir"],
        options["cdi_dir"],
        node=pools[0].node,
        devices=pools[0],
        name=pools[0].driver,
        validate=configs.validator(driver, schemas),
        instance=options["instance"],
    )
    made.faults = misbehaving
    running.follow(made, options["faults"])
    if options["http_port"]:
        running.serve_http(made, options["http_port"])
    return made


def _schemas(options: Mapping[str, Any], driver: str) -> Registry | None:
    """Return a driver's DriverConfigSchemas of a file; None for the catalog's."""
    path = options["schema"]
    if path is None:
        return None
    if options["kubelet_dir"] is None:
        raise click.UsageError(
            "--schema validates configs of claims that a kubelet prepares: "
            "name its folder by --kubelet-dir"
        )
    from dragoman_drivers.pretend import configs  # noqa: PLC0415 — CEL

    try:
        return configs.usable(files.trees([str(path)]), driver)
    except (configs.SchemaError, UnusableInput) as error:
        raise click.UsageError(f"--schema {path}: {error}") from None


def _pools(options: Mapping[str, Any]) -> tuple[str, list[PretendPool]]:
    """Return the driver that is pretended, and the pools to publish."""
    if bool(options["shape"]) == bool(options["source"]):
        raise click.UsageError("name either --shape or --from; --list-shapes lists shapes")
    if options["source"]:
        driver, found = _recorded(options)
    else:
        try:
            made = shapes.parse(options["shape"], options["driver"])
        except shapes.ShapeError as error:
            raise click.UsageError(f"--shape {error}") from None
        names = [*options["names"], *(f"pretend-{at}" for at in range(options["nodes"]))]
        if not names:
            raise click.UsageError("name a node by --node, or a number of them by --nodes")
        driver = made(names[0])[0].driver
        title = options["driver_name"] or guard.pretended(driver)
        found = [
            PretendPool(
                title, node, one.devices, one.counters, f"{node}-{one.name}" if one.name else ""
            )
            for node in names
            for one in made(node)
        ]
    if options["kubelet_dir"] is not None and len(found) != 1:
        several = len({one.node for one in found}) != 1
        why = "node: name it by --node" if several else f"pool: {found[0].node} has {len(found)}"
        raise click.UsageError(f"--kubelet-dir belongs to one {why}")
    return driver, found


def _recorded(options: Mapping[str, Any]) -> tuple[str, list[PretendPool]]:
    slices = _slices(options["source"])
    known = recorded_drivers(slices)
    driver = options["driver"] or (known[0] if len(known) == 1 else "")
    if driver not in known:
        raise click.UsageError(f"--driver: name one of {', '.join(known) or 'none: no slices'}")
    name = options["driver_name"] or guard.pretended(driver)
    found = recorded_pools(slices, driver, name)
    wanted = options["names"]
    if wanted and len(found) == 1:  # one recorded node stands for each that is named
        found = [replace(found[0], node=node, name="") for node in wanted]
    found = [one for one in found if not wanted or one.node in wanted]
    if not found:
        raise click.UsageError(f"{options['source']} has no slices of {driver} on such a node")
    return driver, found


def _slices(path: Path) -> list[Mapping[str, Any]]:
    try:
        with opened(path) as file:
            return [*snapshot.read(file).of("resourceslices")]
    except snapshot.SnapshotError:
        found = files.trees([str(path)])
        return [
            one for one in found if isinstance(one, dict) and one.get("kind") == "ResourceSlice"
        ]
    except (OSError, UnreadableError) as error:
        raise click.UsageError(f"{path}: {reason(error)}") from None


def _refuse(api: Api, name: str, options: Mapping[str, Any]) -> None:
    """Refuse the name of a driver that is, or could be, really there."""
    kubelet = options["kubelet_dir"]
    slices = api.list("resourceslices", fieldSelector=f"spec.driver={name}")
    try:
        throwaway = is_throwaway(api)
    except ApiError:  # no right to read it: then it is none
        throwaway = False
    around = guard.Surroundings(
        throwaway,
        options["i_know"],
        tuple(slices),
        guard.sockets(kubelet, name) if kubelet else (),
        own=bool(kubelet) and (kubelet / "plugins" / name / "checkpoint.json").exists(),
    )
    if problem := guard.refusal(name, around):
        raise click.UsageError(problem)


def _missing_nodes(api: Api, names: Sequence[str]) -> str:
    return next((name for name in names if not api.find("nodes", name)), "")
