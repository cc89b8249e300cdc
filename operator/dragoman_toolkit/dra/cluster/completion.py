"""Names for shell completion, from the cluster or a snapshot; silence where there is no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dragoman.cli.completing import offered
from dragoman.kube.connectionoptions import FLAGS, ConnectionOptions
from dragoman_toolkit.dra.cluster.selection import ENDED
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.workloadkinds import KINDS

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

SECONDS = 3.0
"""How long a shell waits for names."""


def namespaces(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a namespace."""
    return items(_names(context, "/api/v1/namespaces"), begun)


def device_classes(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a DeviceClass."""
    return items(_names(context, "/apis/resource.k8s.io/v1/deviceclasses"), begun)


def nodes(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a node."""
    return items(_names(context, "/api/v1/nodes"), begun)


def pods(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a pod in the namespace of the options."""
    return items(in_namespace("pods")(context), begun)


def subjects(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a pod, or a kind of workloads as the first word."""
    words = context.params.get("words") or ()
    known = () if words else (f"{kind}/" for kind in KINDS)
    return items([*known, *in_namespace("pods")(context)], begun)


def claims(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a claim in the namespace of the options."""
    return items(in_namespace("resourceclaims")(context), begun)


def in_namespace(plural: str) -> Callable[[click.Context], list[str]]:
    """Return a function that lists names of a namespaced resource in the namespace of options."""

    def listed(context: click.Context) -> list[str]:
        group = "/api/v1" if plural == "pods" else "/apis/resource.k8s.io/v1"
        ended = ENDED if plural == "pods" else ""
        return _names(context, f"{group}/namespaces/{{namespace}}/{plural}", ended)

    return listed


def devices(context: click.Context) -> list[str]:
    """List all devices as driver/pool/device."""
    found = []
    for item in _listed(context, "/apis/resource.k8s.io/v1/resourceslices"):
        spec: Mapping[str, Any] = item.get("spec") or {}
        pool = (spec.get("pool") or {}).get("name")
        found += [
            f"{spec.get('driver')}/{pool}/{device['name']}" for device in spec.get("devices") or ()
        ]
    return found


def _names(context: click.Context, path: str, fields: str = "") -> list[str]:
    return [item["metadata"]["name"] for item in _listed(context, path, fields)]


def contexts(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a context of the kubeconfig."""
    return items(_entries(context, "contexts"), begun)


def clusters(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a cluster of the kubeconfig."""
    return items(_entries(context, "clusters"), begun)


def users(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a user of the kubeconfig."""
    return items(_entries(context, "users"), begun)


def _entries(context: click.Context, plural: str) -> Iterable[str]:
    from dragoman.kube.credentials.files import load  # noqa: PLC0415 — only while a shell completes

    try:
        return load(context.params.get("kubeconfig")).entries[plural]
    except Exception:  # noqa: BLE001 — a message would land in the user's command line
        return ()


def _listed(context: click.Context, path: str, fields: str = "") -> Iterable[Mapping[str, Any]]:
    """List a collection with the connection options given so far; nothing on any failure."""
    given = context.params
    if given.get("snapshot"):
        return _of_snapshot(Source(snapshot=given["snapshot"]), context, path)
    source = Source(
        connection=ConnectionOptions(**{name: given[name] for name in FLAGS if given.get(name)}),
        namespace_option=given.get("namespace_option") or "",
    )
    try:
        target = path.format(namespace=source.namespace)
        answer: Mapping[str, Any] = source.call(
            lambda client: asyncio.wait_for(
                client.get(target, limit="500", **({"fieldSelector": fields} if fields else {})),
                SECONDS,
            )
        )
        return answer.get("items") or ()
    except Exception:  # noqa: BLE001 — a message would land in the user's command line
        return ()


def _of_snapshot(source: Source, context: click.Context, path: str) -> Iterable[Mapping[str, Any]]:
    """List what a snapshot has of a collection, in the namespace of -n or of all of them."""
    plural = path.rpartition("/")[2]
    namespace = context.params.get("namespace_option") or ""
    try:
        found = source.read((plural,)).of(plural)
    except Exception:  # noqa: BLE001 — a message would land in the user's command line
        return ()
    if "{namespace}" not in path:
        return found
    if not namespace:  # a snapshot has no namespace of its own
        return [{"metadata": {"name": _key(one["metadata"])}} for one in found]
    return [one for one in found if one["metadata"].get("namespace") == namespace]


def _key(metadata: Mapping[str, Any]) -> str:
    return f"{metadata.get('namespace')}/{metadata['name']}"


def files(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Leave the completion to the shell, which knows the files."""
    return offered([begun], kind="file")


def items(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the names that begin as what was typed."""
    return offered(sorted(set(names)), begun)
