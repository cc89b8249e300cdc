"""The API server's audit log: who wrote what, and with which answer."""

import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml

from tests.support.controlplane.api import Api

READS = ("get", "list", "watch")
# Reads and reviews change nothing. /version is the mark that tells how far the log has come.
POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Metadata", "nonResourceURLs": ["/version"]},
        {"level": "None", "nonResourceURLs": ["*"]},
        {"level": "None", "verbs": [*READS]},
        {
            "level": "None",
            "resources": [{"group": "authorization.k8s.io"}, {"group": "authentication.k8s.io"}],
        },
        # What a rule reserved, and for whom, is not known any more once the rule is deleted.
        {
            "level": "Request",
            "verbs": ["create"],
            "resources": [{"group": "resource.k8s.io", "resources": ["devicetaintrules"]}],
        },
        {"level": "Metadata"},
    ],
}


# A watch that goes on is told by its start.
POLICY_WITH_READS = {
    **POLICY,
    "omitStages": ["RequestReceived"],
    "rules": [rule for rule in POLICY["rules"] if rule.get("verbs") != [*READS]],
}


@dataclass(frozen=True, slots=True)
class Write:
    """One completed request that changed something, or tried to.

    Attributes:
        user: Who sent it (whom it was sent for, where somebody was impersonated).
        verb: create, update, patch, delete or deletecollection.
        resource: Plural of the resource.
        subresource: Such as `status`, or empty.
        name: Of the object; empty where the server chose it.
        code: HTTP status of the answer.
        dry_run: Whether nothing was stored on purpose.
        body: The object as it was sent, of created DeviceTaintRules alone.
    """

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    agent: str
    dry_run: bool
    body: Any = field(default=None, compare=False)

    @property
    def what(self) -> str:
        """The kind of write, such as `patch pods/status`."""
        return f"{self.verb} {self.resource}{'/' if self.subresource else ''}{self.subresource}"

    @property
    def refused(self) -> bool:
        """Whether the server did not do it."""
        return self.code >= 400


class Audit:
    """Read the log of one API server; positions are byte offsets that survive its restarts.

    Args:
        folder: Where policy and log are.
        admin: By which the log is marked.
        enabled: Whether there is a log at all.
        reads: Whether it tells of reads too, for `requests`.
    """

    def __init__(
        self, folder: Path, admin: Api, *, enabled: bool = True, reads: bool = False
    ) -> None:
        self.enabled = enabled
        self.policy = folder / "audit-policy.yaml"
        self.policy.write_text(yaml.safe_dump(POLICY_WITH_READS if reads else POLICY))
        self.path = folder / "audit.log"
        self.path.touch()
        self._admin = admin
        self._writes: list[tuple[int, Write]] = []
        self._reads: set[Write] = set()
        self._read = 0

    def flags(self) -> list[str]:
        """Return the API server's flags that make it write this log."""
        if not self.enabled:
            return []
        return [
            f"--audit-policy-file={self.policy}",
            f"--audit-log-path={self.path}",
            "--audit-log-maxsize=1000000",
        ]

    def mark(self) -> int:
        """Return the position behind everything that is answered by now."""
        self.catch_up()
        return self._read

    def writes(
        self,
        user: str | None = None,
        since: int = 0,
        *,
        resource: str | None = None,
        verb: str | None = None,
        namespace: str | None = None,
        leases: bool = False,
        refused: bool | None = False,
    ) -> tuple[Write, ...]:
        """Return the writes since a mark, oldest first.

        Args:
            user: Only this user's.
            since: What `mark` returned.
            resource: Only this plural, or `pods/status` for a subresource.
            verb: Only this verb.
            namespace: Only in this namespace.
            leases: Whether Leases, by which leaders show that they live, count too.
            refused: Accepted writes (False), refused ones (True), or both (None).
        """
        self.catch_up()
        return tuple(
            write
            for position, write in self._writes
            if position > since
            and (user is None or write.user == user)
            and (resource is None or resource == write.what.partition(" ")[2])
            and (verb is None or write.verb == verb)
            and (namespace is None or write.namespace == namespace)
            and (leases or write.resource != "leases")
            and (refused is None or write.refused is refused)
        )

    def counts(self, user: str | None = None, since: int = 0, **only: Any) -> Counter[str]:
        """Count what was stored, by what it is: `{"create resourceclaims": 1, …}`; no dry runs."""
        found = self.writes(user, since, **only)
        return Counter(write.what for write in found if not write.dry_run)

    def requests(self, user: str) -> set[Write]:
        """Return everything that a user was ever allowed to ask for, reads included."""
        return {one for one in self._everything(user) if one.code not in {401, 403}}

    def forbidden(self, user: str) -> set[Write]:
        """Return everything that a user asked for and has no right to, reads included."""
        return {one for one in self._everything(user) if one.code == 403}

    def _everything(self, user: str) -> set[Write]:
        self.catch_up()
        everything = self._reads.union(write for _, write in self._writes)
        return {one for one in everything if one.user == user}

    def reads(self, user: str, verb: str, since: int = 0, query: str = "") -> Counter[str]:
        """Count what a user began to read since a mark, by resource.

        Args:
            user: Whose requests.
            verb: get, list or watch.
            since: What `mark` returned.
            query: What the URL contains.
        """
        self.catch_up()
        # A watch that goes on is told by its start, which other reads have none of.
        stage = "ResponseStarted" if verb == "watch" else "ResponseComplete"
        found: Counter[str] = Counter()
        with self.path.open("rb") as log:
            log.seek(since)
            for line in log:
                one = parse(line) if line.endswith(b"\n") else None
                if one is None or (one.user, one.verb) != (user, verb):
                    continue
                event = orjson.loads(line)
                if event["stage"] == stage and query in event["requestURI"]:
                    found[one.resource] += 1
        return found

    def settled(self, user: str | None = None, quiet: float = 0.5, timeout: float = 120) -> None:
        """Wait until the user (anybody) has written nothing, Leases apart, for `quiet` seconds.

        Raises:
            TimeoutError: The writing never paused for so long.
        """
        deadline = time.monotonic() + timeout
        seen, since = -1, time.monotonic()
        while time.monotonic() - since < quiet:
            count = len(self.writes(user, refused=None))
            if count != seen:
                seen, since = count, time.monotonic()
            if time.monotonic() > deadline:
                raise TimeoutError(f"still writing after {timeout:g} s ({seen} writes)")
            time.sleep(min(quiet / 4, 0.1))

    def catch_up(self, timeout: float = 60) -> None:
        """Read the log up to a request made now: what was answered before stands in front of it.

        A write that the server's death (SIGKILL) tore apart may be stored and yet be missing here.

        Raises:
            RuntimeError: This control plane writes no log.
            TimeoutError: The request does not appear in the log.
        """
        if not self.enabled:
            raise RuntimeError("this control plane was started with audit=False")
        token = uuid.uuid4().hex
        self._admin.request("GET", "/version", mark=token)
        deadline = time.monotonic() + timeout
        while not self._read_new(token):
            if time.monotonic() > deadline:
                raise TimeoutError("the audit log does not show a request that was answered")
            time.sleep(0.002)

    def _read_new(self, token: str) -> bool:
        """Take in new complete lines; tell whether one of them carries the token."""
        found = False
        for line in self._new_lines():
            if token.encode() in line:
                found = True
            elif write := parse(line):
                if write.verb in READS:
                    self._reads.add(write)
                else:
                    self._writes.append((self._read, write))
        return found

    def _new_lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield line


def parse(line: bytes) -> Write | None:
    """Turn one line of the log into a write; None for what is none."""
    if b'"objectRef"' not in line:
        return None
    event = orjson.loads(line)
    target = event["objectRef"]
    who = event.get("impersonatedUser") or event["user"]
    return Write(
        user=who.get("username", ""),  # nobody, where a token was refused
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=target["resource"],
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        agent=event.get("userAgent", ""),
        dry_run="dryRun=All" in event.get("requestURI", ""),
        body=event.get("requestObject"),
    )
