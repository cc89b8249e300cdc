"""The webhook's certificates in the cluster: one Secret, one webhook configuration.

Every replica plans from the same two objects and writes with the resourceVersion it has read, so
one of them wins each step and the others go on from there; there is no leader. What is to be done,
and when, is `dragoman_webhooks.tls.rotation`'s.
"""

import asyncio
import ssl
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dragoman import surroundings
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import STRATEGIC_MERGE_PATCH, Client
from dragoman.kube.errors import ApiError
from dragoman.kube.named import NamedObject
from dragoman.kube.resources import SECRETS, VALIDATING_WEBHOOK_CONFIGURATIONS
from dragoman.logs import logger
from dragoman_webhooks.tls.authority import (
    ca_bundle,
    carry_out,
    read_ca_bundle,
    read_secret,
    write_secret,
)
from dragoman_webhooks.tls.files import serve, server_context
from dragoman_webhooks.tls.rotation import Action, KeyPair, Keys, Lifetimes, RotationFacts, plan

TICK = 0.5
"""Seconds between looks at the clock."""

log = logger("dragoman.webhook")


@dataclass(frozen=True, slots=True)
class Home:
    """Where the certificates live."""

    namespace: str  # Namespace of the Secret
    secret: str  # Its name; it must be there, empty at first
    configuration: str  # Name of the ValidatingWebhookConfiguration


class SelfSigned:
    """Serves and renews certificates of a private CA.

    Args:
        api: Where the objects are.
        home: Their names.
        hosts: Names and addresses by which the API server calls.
        lifetimes: How long things last.

    Attributes:
        context: The server's side of TLS.
    """

    def __init__(
        self,
        api: Client,
        home: Home,
        hosts: frozenset[str],
        lifetimes: Lifetimes,
    ) -> None:
        self._api = api
        self._changed = asyncio.Event()
        self._secret = NamedObject(api, SECRETS, home.secret, home.namespace, changed=self._changed)
        self._configuration = NamedObject(
            api, VALIDATING_WEBHOOK_CONFIGURATIONS, home.configuration, changed=self._changed
        )
        self._hosts = hosts
        self._lifetimes = lifetimes
        self._served: KeyPair | None = None
        self.context: ssl.SSLContext = server_context()

    def unready(self) -> str | None:
        """Return None once there is a certificate to serve."""
        return None if self._served else f"no certificate in the Secret {self._secret.path} yet"

    async def run(self) -> None:
        """Keep certificates until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._secret.run())
            tasks.create_task(self._configuration.run())
            tasks.create_task(self._keep())

    async def _keep(self) -> None:
        pauses = Backoff()
        while True:
            try:
                async with asyncio.timeout(TICK):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            try:
                self._load()
                await self._act()
            except (ApiError, ssl.SSLError, OSError, ValueError) as error:
                log.warning("Cannot keep certificates; will try again", error=str(error))
                await asyncio.sleep(pauses.next())

    def _load(self) -> None:
        serving = self._keys().serving
        if serving is not None and serving != self._served:
            serve(self.context, serving.certificate.pem, serving.key)
            self._served = serving

    async def _act(self) -> None:
        if not (self._secret.synced and self._configuration.synced):
            return
        if self._plan() is None:
            return
        # First the configuration: if a replica published a CA that is not in the Secret as read
        # below, the configuration has changed since, and the API server refuses the write.
        await self._configuration.read()
        await self._secret.read()
        action = self._plan()
        if action is None:
            return
        if self._secret.document is None:
            raise ApiError(404, "NotFound", f"there is no Secret {self._secret.path}")
        try:
            await (self._publish() if action is Action.PUBLISH else self._store(action))
        except ApiError as error:
            if error.code != 409:
                raise
            # Another replica was faster.
            await self._secret.read()
            await self._configuration.read()
        else:
            log.info("Changed certificates", action=action.value)
        self._load()

    def _plan(self) -> Action | None:
        return plan(
            RotationFacts(
                keys=self._keys(),
                published=_published(self._configuration),
                hosts=self._hosts,
                now=surroundings.now(),
                unchanged=timedelta(
                    seconds=surroundings.monotonic()
                    - max(self._secret.since, self._configuration.since)
                ),
            ),
            self._lifetimes,
        )

    def _keys(self) -> Keys:
        return read_secret((self._secret.document or {}).get("data") or {})

    async def _store(self, action: Action) -> None:
        # The watch goes on while keys are made: what was planned from is what may be replaced.
        stored = self._secret.document
        assert stored is not None
        made = await surroundings.in_thread(
            carry_out, action, self._keys(), self._hosts, self._lifetimes, surroundings.now()
        )
        body = {**stored, "data": write_secret(made)}
        self._secret.put(await self._api.put(self._secret.path, body))

    async def _publish(self) -> None:
        document = self._configuration.document
        assert document is not None
        bundle = ca_bundle(self._keys().trusted())
        body = {
            "metadata": {"resourceVersion": document["metadata"]["resourceVersion"]},
            "webhooks": [
                {"name": webhook["name"], "clientConfig": {"caBundle": bundle}}
                for webhook in document.get("webhooks") or ()
            ],
        }
        path = self._configuration.path
        self._configuration.put(await self._api.patch(path, body, STRATEGIC_MERGE_PATCH))


def _published(configuration: NamedObject) -> frozenset[bytes] | None:
    """Return what all webhooks of the configuration trust; nothing where they differ."""
    found: list[Any] = (configuration.document or {}).get("webhooks") or []
    bundles = {read_ca_bundle(webhook["clientConfig"].get("caBundle") or "") for webhook in found}
    if not found:
        return None
    return bundles.pop() if len(bundles) == 1 else frozenset()
