"""What `hold` and `drain` do after the question: write, wait, and say in words what is left."""

import asyncio
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from dragoman import logs
from dragoman.cli.terminal import line, say
from dragoman.controllers.maintenance.drainer import ALREADY_EXISTS, SETTLE, Drainer, News, Order
from dragoman.controllers.maintenance.view import ClusterView, served_rules
from dragoman.controllers.maintenance.writer import Writer
from dragoman.inventory.ages import duration
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client
from dragoman.kube.discovery import discover, server_version
from dragoman.kube.errors import ApiError
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import HoldKind
from dragoman.maintenance.manifests import Origin
from dragoman.maintenance.plan import MaintenanceFacts, MaintenancePlan
from dragoman_base.versions import Release
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster import rights
from dragoman_toolkit.dra.cluster.authorship import author
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance import previewing, text
from dragoman_toolkit.dra.maintenance.choosing import Chosen, choose, confirm, require_devices
from dragoman_toolkit.dra.maintenance.previewing import MaintenanceOptions
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.missing import cannot_tell, unseen_of
from dragoman_toolkit.dra.output import Exit, Report, Unusable, show

__all__ = ["Drain", "EvictionMode", "HoldKind", "MaintenanceOptions", "carry_out"]

_REFUSED = frozenset({400, 401, 403, 404, 405, 422})
"""Answers of the API server that waiting does not change."""


@dataclass
class Drain:
    """One run of `hold` or `drain`."""

    source: Source  # The cluster
    chosen: Chosen  # The devices
    options: MaintenanceOptions  # How they are taken out of service
    facts: MaintenanceFacts  # At the time of reading
    # Whether progress goes to standard error, because standard output is a document
    quiet: bool = False
    news: list[News] = field(default_factory=list)
    _drainer: Drainer | None = None
    _status: Any = None

    def run(self) -> Report:
        """Drain the devices; return a report."""
        # Watches log their retries; by default that would go to standard output.
        logs.configure(json=False, level="ERROR")
        ended, status = "", Exit.OBSTACLE
        began = time.monotonic()
        try:
            self.source.call(self._drain)
        except TimeoutError:
            ended = f"Timeout after {duration(time.monotonic() - began)}"
        except KeyboardInterrupt:
            ended = "Interrupted"
        except Unusable as error:
            if self._drainer is None or self._drainer.plan is None:
                raise  # nothing was written
            ended = error.message.rstrip(".")
            status = Exit.UNKNOWN
        return self._report(ended, status)

    async def _drain(self, client: Client) -> None:
        served = await discover(client, "off")
        rules = await served_rules(client) if self.facts.kind is HoldKind.RULE else None
        binding = Release(await server_version(client)).bindings_checked
        await rights.require(client, self._needs(binding=binding))
        writer = Writer(
            client,
            served.claims,
            rules,
            self.source.namespace,
            Origin(self.options.reason, await author(client)),
            self.options.grace,
        )
        order = Order(
            self.facts.devices,
            self.facts.selectors,
            self.facts.kind,
            self.options.evict,
            self.options.rate,
            self.options.unmanaged,
        )
        view = ClusterView(client, served.claims)
        self._drainer = Drainer(view, writer, order, self._say)
        with self._waiting():
            async with asyncio.timeout(self.options.timeout or None), view.following():
                await self._until_done(self._drainer)

    async def _until_done(self, drainer: Drainer) -> None:
        """Drain, also while the API server does not answer for some time."""
        backoff = Backoff()
        said = ""
        while True:
            try:
                if self.options.wait:
                    await drainer.run(self._done, SETTLE if self._settles else 0.0)
                else:
                    await drainer.run(lambda plan: not plan.actions, 0.0)
            except ApiError as error:
                if error.code in _REFUSED or error.reason == ALREADY_EXISTS:
                    raise
                if str(error) != said:
                    said = str(error)
                    say(f"! {said}; trying again")
                await asyncio.sleep(backoff.next(error.retry_after))
            else:
                return

    def _needs(self, *, binding: bool) -> tuple[rights.Need, ...]:
        rules = self.facts.kind is HoldKind.RULE
        held = rights.holding(self.source.namespace, rules=rules, binding=binding)
        needs = (*rights.WATCHED, *held)
        if self.options.evict is EvictionMode.NEVER:
            return needs
        return (*needs, *rights.evicting(delete=self.options.evict is EvictionMode.NOW))

    @property
    def _settles(self) -> bool:
        """Whether to wait for allocations that the scheduler had begun before the hold."""
        return self.options.evict is not EvictionMode.NEVER or self.facts.kind is HoldKind.CLAIM

    def _done(self, plan: MaintenancePlan) -> bool:
        if self.options.evict is EvictionMode.NEVER:
            return plan.held
        return plan.held and plan.idle

    def _waiting(self) -> AbstractContextManager[Any]:
        if not sys.stderr.isatty():
            return nullcontext()
        from dragoman_toolkit.dra.redrawing import console  # noqa: PLC0415 — heavy, and for terminals

        self._status = waiting = console(sys.stderr).status(f"{self.options.command}: reading")
        return waiting

    def _say(self, news: News) -> None:
        self.news.append(news)
        say(text.line(news, self.options.evict), err=self.quiet)
        plan = self._drainer.plan if self._drainer else None
        if self._status is not None and plan is not None:
            self._status.update(line(f"{self.options.command}: {text.left(plan)}"))

    def _report(self, ended: str, unfinished: Exit) -> Report:
        plan = self._drainer.plan if self._drainer else None
        done = plan is not None and not ended and self._done(plan)
        wish, command = self.chosen.wish.arguments(), self.options.command
        flags = self.options.flags()
        lines = text.closing(plan, ended, done=done, command=command, wish=wish, flags=flags)
        document = {
            **notes.header(self.chosen.inventory.world),
            "done": done,
            "ended": ended,
            "devices": text.devices(plan, self.facts.devices),
            "pods": text.pods(self.news),
            "remaining": text.remaining(plan),
            "back": f"kubectl dra un{command} {wish}",
        }
        status = Exit.CLEAR if done else unfinished
        return Report("Drain", document, tuple(lines), status)


def carry_out(
    source: Source, wish: WantedDevices, options: MaintenanceOptions, output: Output
) -> Exit:
    """Preview, ask, and run `hold` or `drain`; return the exit status."""
    chosen = choose(source, wish)
    require_devices(chosen)
    facts = previewing.facts_of(chosen, options)
    found = previewing.previewed(source, chosen, facts)
    if said := previewing.misunderstood_force(options, found):
        say(f"! {said}")
    preview = previewing.dry_run(chosen, found, facts, options.command)
    if wish.dry_run:
        show(preview, output)
        return preview.status
    if found.spared:
        raise previewing.refused(found, wish)
    if blind := cannot_tell(unseen_of(chosen.inventory.world)):
        say(f"! {blind}")
    document = output.document
    for told in found.lines():
        say(told, err=document)
    for note in chosen.notes():
        say(f"! {note}")
    confirm(len(facts.devices), wish, options.command)
    report = Drain(source, chosen, options, facts, quiet=document).run()
    show(report, output)
    return report.status
