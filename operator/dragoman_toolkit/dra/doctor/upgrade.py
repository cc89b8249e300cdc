"""`kubectl dra doctor --target`: what is asked for in old versions, and which gates flags set."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from dragoman.doctor.doctorfacts import Requested, Upgrade
from dragoman.doctor.finding import Id
from dragoman.doctor.upgrade import KINDS
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS
from dragoman.model.fields import part, parts
from dragoman_base import files
from dragoman_base.versions import GROUP, REMOVED_IN, Version
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Unusable

AUDIT = "audit.k8s.io/"
METRIC = b"apiserver_requested_deprecated_apis{"
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"', re.ASCII)
EVENT_LIMIT = 1 << 20
"""Bytes of one event of an audit log that are read; a longer one is left out."""
LINES_WITHOUT = 10_000
"""Lines without an event after which a file is no audit log."""
CLIENTS_LIMIT = 10_000
"""Clients that are counted by name."""
NAME_LIMIT = 256
"""Characters of a name; a client gives itself any."""
_DEPRECATED = frozenset(version for version, _ in REMOVED_IN)
_GATES = "--feature-gates"

Asked = Mapping[tuple[str, str], tuple[str, ...]]
"""Clients by version and resource, those that asked most first."""


@dataclass
class _Heard:
    """What the API server and an audit log say."""

    asked: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)  # As above
    # Gates that flags set, by `namespace/pod`
    gates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # What could not be read, by the rule that needs it
    unread: dict[Id, tuple[str, ...]] = field(default_factory=dict)


def upgrade(source: Source, target: Version, audit_log: Path | None) -> Upgrade:
    """Read what an upgrade to a version depends on beside the objects.

    Args:
        source: A cluster; a snapshot has the objects alone.
        target: The version.
        audit_log: Names who asks; None where there is none.
    """
    heard = _Heard()
    if source.snapshot:
        heard.unread = {
            Id.API_REMOVED: ("metrics of the API server",),
            Id.GATE_REMOVED: ("flags of the control plane",),
        }
    else:
        source.call(lambda client: _ask(client, heard))
    if audit_log is not None:
        heard.asked |= audited(audit_log)
    requested = (Requested(*key, clients) for key, clients in heard.asked.items())
    return Upgrade(target, tuple(requested), heard.gates, heard.unread)


async def _ask(client: Client, heard: _Heard) -> None:
    """Read metrics and flags; what may not be read is noted."""
    try:
        heard.asked = dict.fromkeys(await _requested(client), ())
    except ApiError as error:
        _note(heard, Id.API_REMOVED, "metrics of the API server", error)
    try:
        pods = await client.get(PODS.path("kube-system"), labelSelector="tier=control-plane")
        heard.gates = dict(gates_of(pods))
        if not pods.get("items"):
            # Managed clusters, k3s and others run it elsewhere.
            heard.unread[Id.GATE_REMOVED] = ("flags of the control plane: no pod shows them",)
    except ApiError as error:
        _note(heard, Id.GATE_REMOVED, "flags of the control plane", error)


def _note(heard: _Heard, rule: Id, what: str, error: ApiError) -> None:
    if not error.code:
        raise error
    heard.unread[rule] = (what,)


async def _requested(client: Client) -> list[tuple[str, str]]:
    """Return version and resource of each deprecated API that was asked for."""
    found = []
    lines = client.lines("/metrics", {}, lambda line: line.startswith(METRIC))
    async with aclosing(lines) as wanted:
        async for line in wanted:
            labels = dict(_LABEL.findall(line.decode(errors="replace")))
            if labels.get("group") == GROUP:
                found.append((labels.get("version", ""), labels.get("resource", "")))
    return found


def gates_of(pods: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the gates that flags of pods set, by `namespace/pod`. Pure."""
    for pod in parts(pods, "items"):
        metadata, found = part(pod, "metadata"), []
        for container in parts(pod, "spec", "containers"):
            words = [str(one) for key in ("command", "args") for one in container.get(key) or ()]
            for index, word in enumerate(words):
                name, _, value = word.partition("=")
                if name == _GATES:
                    text = value or next(iter(words[index + 1 :]), "")
                    found += [one.partition("=")[0].strip() for one in text.split(",")]
        if found:
            yield f"{metadata.get('namespace')}/{metadata.get('name')}", tuple(sorted({*found}))


def audited(path: Path) -> Asked:
    """Read an audit log: who asked for deprecated versions of resource.k8s.io.

    Raises:
        Unusable: The file cannot be read, or has no event.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    events, named, lines, size = False, 0, 0, 0
    try:
        with _unpacked(path) as file:
            while line := file.readline(EVENT_LIMIT):
                size += len(line)
                if size > files.MAX_LINES:
                    raise Unusable(f"--audit-log: {path}: more than {files.MAX_LINES >> 30} GiB")
                lines += 1
                events = events or _is_event(line)
                if lines == LINES_WITHOUT and not events:
                    break
                # What follows of a longer event is no JSON object.
                if GROUP.encode() in line and (found := _who(line)):
                    key, client = found
                    clients = counts.setdefault(key, Counter())
                    if client in clients or named < CLIENTS_LIMIT:
                        named += client not in clients
                        clients[client] += 1
    except (OSError, files.UnreadableError) as error:
        raise Unusable(f"--audit-log: {path}: {files.reason(error)}") from error
    except (EOFError, zlib.error) as error:
        raise Unusable(f"--audit-log: {path}: {error}") from error
    if not events:
        raise Unusable(
            f"--audit-log: {path}: no line is an event of audit.k8s.io "
            f"(of at most the first {LINES_WITHOUT:,}); it takes the log that the "
            "API server writes with --audit-log-format=json, also compressed by gzip"
        )
    return {key: tuple(name for name, _ in one.most_common()) for key, one in counts.items()}


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a log, which may be compressed by gzip."""
    with files.opened(path) as file:
        if file.peek(2)[:2] != b"\x1f\x8b":  # a pipe cannot be rewound
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast("BinaryIO", unpacked)


def _is_event(line: bytes) -> bool:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and str(event.get("apiVersion") or "").startswith(AUDIT)


def _who(line: bytes) -> tuple[tuple[str, str], str] | None:
    """Return what an event asked for, and who did; None where it is no such event."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    about = part(event, "objectRef")
    version = str(about.get("apiVersion") or "")
    resource = str(about.get("resource") or "")
    if about.get("apiGroup") != GROUP or version not in _DEPRECATED or resource not in KINDS:
        return None
    agent = _name(event.get("userAgent")).split(" ")[0]
    user = _name(part(event, "user").get("username"))
    return (version, resource), f"{user} ({agent})" if agent else user


def _name(found: object) -> str:
    """Return a name, of a long one the beginning."""
    text = found if isinstance(found, str) else ""
    return text if len(text) <= NAME_LIMIT else f"{text[:NAME_LIMIT]}…"
