"""`dragoman pretend`: a DRA driver without hardware."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.options import connection_options
from dragoman.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dragoman.drivers.pretend.running import Pretender
    from dragoman.drivers.pretend.slices import Pool
    from dragoman.drivers.throwaway.api import Api

_EXAMPLES: Final = """\
\b
Examples:
  dragoman pretend --shape gpu.nvidia.com:8xH100 --nodes 100 --create-nodes
  dragoman pretend --shape gpu.nvidia.com:8xH100 --node worker-1 --kubelet-dir /var/lib/kubelet
  dragoman pretend --from cluster.jsonl --driver gpu.nvidia.com
  dragoman pretend --shape gpu.amd.com:8xMI300X --node worker-1 --kubelet-dir /var/lib/kubelet \\
    --fault slow=2 --fault unhealthy=gpu-3

\b
Exit status:
  0  ended by SIGTERM or SIGINT; its slices are deleted
  2  bad input, or the name of a driver that is really there
"""
EXTRA: Final = "in a checkout of dragoman, pip install '.[conformance]'"


@click.command(epilog=_EXAMPLES)
@click.option("--shape", metavar="DRIVER:COUNTxMODEL", default="", help="Devices of each node.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of `kubectl dra snapshot`, or ResourceSlices as YAML or JSON.",
)
@click.option("--driver", default="", help="Whose slices of --from are published again.")
@click.option("--node", "names", multiple=True, metavar="NAME", help="Node of the devices.")
@click.option(
    "--nodes", type=click.IntRange(0, 5000), default=0, help="So many nodes, pretend-0 and on."
)
@click.option("--create-nodes", is_flag=True, help="Create Nodes that are not there.")
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The kubelet's root folder; without it only slices are published.",
)
@click.option(
    "--cdi-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/var/run/cdi"),
    show_default=True,
    help="Folder of CDI documents.",
)
@click.option("--driver-name", default="", help="By default pretend.DRIVER.")
@click.option("--i-know", is_flag=True, help="Allow a real driver's name on a real cluster.")
@click.option(
    "--instance", default="", help="Distinguishes the sockets of instances that run side by side."
)
@click.option("--fault", "faults", multiple=True, metavar="NAME[=VALUE]", help="Misbehave.")
@click.option("--list-faults", is_flag=True, help="List the faults and exit.")
@click.option("--list-shapes", is_flag=True, help="List the known shapes and exit.")
@click.option(
    "--http-port", type=int, default=0, help="Serve /healthz and /metrics on loopback there."
)
@connection_options
def pretend(**options: Any) -> None:
    """Be a DRA driver without hardware: publish devices, and prepare claims for them.

    Containers get environment variables and a file for each device by CDI. Configs are validated
    by the catalog's schema of the driver that is pretended. What is prepared survives a restart.
    """
    if options["list_faults"] or options["list_shapes"]:
        _list(options)
        return
    try:
        _run(options)
    except ModuleNotFoundError as error:
        if error.name != "grpc":
            raise
        raise click.ClickException(f"grpcio is not installed: {EXTRA}") from None


def _list(options: Mapping[str, Any]) -> None:
    from dragoman.drivers.pretend import faults, shapes  # noqa: PLC0415 — heavy, not for --help

    if options["list_shapes"]:
        click.echo("\n".join(shapes.known()))
        return
    for name, text in faults.CONDITIONS.items():
        click.echo(f"{name}=VALUE\t{text}")
    for name, text in faults.MUTANTS.items():
        click.echo(f"{name}\t{text}")


def _run(options: Mapping[str, Any]) -> None:
    from dragoman.drivers.pretend import faults, guard, running  # noqa: PLC0415 — as above
    from dragoman.drivers.throwaway.api import Api  # noqa: PLC0415 — as above
    from dragoman.kube.credentials.files import ConnectionSettingsError  # noqa: PLC0415 — heavy
    from dragoman.kube.kubeconfig import Credentials  # noqa: PLC0415 — as above

    try:
        faults.parse(options["faults"])
    except faults.FaultError as error:
        raise click.UsageError(f"--fault: {error}") from None
    driver, pools = _pools(options)
    name = pools[0].driver
    try:
        api = Api.of(Credentials(options["kubeconfig"], options["context"]))
    except (ConnectionSettingsError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if not name.startswith(guard.PREFIX):
        _refuse(api, name, options)
    running.log_to_stderr()
    nodes = running.Nodes(api, tuple(dict.fromkeys(pool.node for pool in pools)))
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
        running.run(_pretender(api, driver, pools, options), ready)
    finally:
        if options["create_nodes"]:
            nodes.delete()


def _pretender(
    api: Api, driver: str, pools: Sequence[Pool], options: Mapping[str, Any]
) -> Pretender:
    from dragoman.drivers.pretend import configs, running  # noqa: PLC0415 — heavy, not for --help
    from dragoman.drivers.pretend.mutants import Mutant  # noqa: PLC0415 — as above

    if options["kubelet_dir"] is None:
        return running.Slices(api, pools)
    made = Mutant(
        api,
        options["kubelet_dir"],
        options["cdi_dir"],
        node=pools[0].node,
        devices=pools[0],
        name=pools[0].driver,
        validate=configs.validator(driver),
        instance=options["instance"],
    )
    made.faults = running.faults_of(options["faults"])
    running.follow(made, options["faults"])
    if options["http_port"]:
        running.serve_http(made, options["http_port"])
    return made


def _pools(options: Mapping[str, Any]) -> tuple[str, list[Pool]]:
    """Return the driver that is pretended, and the pools to publish."""
    from dragoman.drivers.pretend import guard, shapes  # noqa: PLC0415 — heavy, not for --help
    from dragoman.drivers.pretend.slices import Pool  # noqa: PLC0415 — as above

    if bool(options["shape"]) == bool(options["source"]):
        raise click.UsageError("name either --shape or --from; --list-shapes lists shapes")
    if options["source"]:
        driver, found = _recorded(options)
    else:
        try:
            made = shapes.parse(options["shape"])
        except shapes.ShapeError as error:
            raise click.UsageError(f"--shape {error}") from None
        names = [*options["names"], *(f"pretend-{at}" for at in range(options["nodes"]))]
        if not names:
            raise click.UsageError("name a node by --node, or a number of them by --nodes")
        driver = made(names[0]).driver
        title = options["driver_name"] or guard.pretended(driver)
        rendered = [(node, made(node)) for node in names]
        found = [Pool(title, node, one.devices, one.counters) for node, one in rendered]
    if options["kubelet_dir"] is not None and len(found) != 1:
        raise click.UsageError("--kubelet-dir belongs to one node: name it by --node")
    return driver, found


def _recorded(options: Mapping[str, Any]) -> tuple[str, list[Pool]]:
    from dragoman.drivers.pretend import guard, recorded  # noqa: PLC0415 — heavy, not for --help

    slices = _slices(options["source"])
    known = recorded.drivers(slices)
    driver = options["driver"] or (known[0] if len(known) == 1 else "")
    if driver not in known:
        raise click.UsageError(f"--driver: name one of {', '.join(known) or 'none: no slices'}")
    name = options["driver_name"] or guard.pretended(driver)
    found = recorded.pools(slices, driver, name)
    wanted = options["names"]
    if wanted and len(found) == 1:  # one recorded node stands for each that is named
        found = [replace(found[0], node=node, name="") for node in wanted]
    found = [one for one in found if not wanted or one.node in wanted]
    if not found:
        raise click.UsageError(f"{options['source']} has no slices of {driver} on such a node")
    return driver, found


def _slices(path: Path) -> list[Mapping[str, Any]]:
    from dragoman.cli.dra.cluster import files  # noqa: PLC0415 — heavy, not for --help
    from dragoman.inventory.snapshots import snapshot  # noqa: PLC0415 — as above

    with path.open("rb") as file:
        try:
            return [*snapshot.read(file).of("resourceslices")]
        except snapshot.SnapshotError:
            found = files.trees([str(path)])
            return [one for one in found if one.get("kind") == "ResourceSlice"]


def _refuse(api: Api, name: str, options: Mapping[str, Any]) -> None:
    """Refuse the name of a driver that is, or could be, really there."""
    from dragoman.drivers.pretend import guard  # noqa: PLC0415 — heavy, not for --help
    from dragoman.drivers.throwaway.api import ApiError  # noqa: PLC0415 — as above
    from dragoman.drivers.throwaway.plane import is_throwaway  # noqa: PLC0415 — as above

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
