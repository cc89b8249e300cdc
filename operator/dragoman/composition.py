"""Which controllers the operator runs: each start adds one to the manager, as the settings say."""

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from dragoman.controllers.claims.controller import ClaimController
from dragoman.controllers.claims.mode import CONFIGURED_ANNOTATION, MODE_ANNOTATION, ClaimMode
from dragoman.controllers.claims.saferelease import SafeReleaseOptions
from dragoman.controllers.clustertemplates.controller import ClusterTemplateController
from dragoman.devicecontrollers import DeviceControllers
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served, discover_devices, retried, server_version, wait_served
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informer
from dragoman.kube.leaderelection import LeaderElector
from dragoman.kube.manager import Manager
from dragoman.kube.resources import CLUSTERTEMPLATES, DEVICEMAINTENANCES, DEVICEPREEMPTIONS
from dragoman.kube.storing import storing_informer
from dragoman.logs import logger
from dragoman.model import Template
from dragoman.settings import Settings
from dragoman.versions import name as version_name

log = logger("dragoman")


class Controllers:
    """The controllers of `dragoman operator`, beside that of DriverConfigSchemas.

    Args:
        client: The connections to the API server.
        settings: Which controllers run, and how.
        served: Which API versions the server has.
        manager: Runs the controllers and their watches.
        recorder: Posts the Events of the process.
        elector: Says whether this process may write; None where it always may.

    Attributes:
        claims: The claim controller; it also stores pods and claims for other controllers, and is
            None where no controller needs them.
    """

    def __init__(  # noqa: PLR0913, PLR0917 — the composition root of most controllers
        self,
        client: Client,
        settings: Settings,
        served: Served,
        manager: Manager,
        recorder: EventRecorder,
        elector: LeaderElector | None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._served = served
        self._manager = manager
        self._elector = elector
        self._recorder = recorder
        self._devices = DeviceControllers(
            client, settings, served, manager, self._recorder, self._leading
        )
        self.claims: ClaimController | None = None
        self._explain: Any = None
        self._mode = ClaimMode(
            settings.claims,
            grace=settings.grace,
            takeover_after=settings.takeover_after,
            keep=lambda mode: elector.annotate(MODE_ANNOTATION, mode.value) if elector else None,
        )

    async def start(self) -> None:
        """Start the controllers; those whose API the server does not serve yet start later."""
        settings, manager = self._settings, self._manager
        informers: list[Informer[Any]] = []
        if settings.claims != "off" or settings.requires_devices:
            informers += self._start_claims()
        if self.claims is not None and settings.requires_devices:
            informers.append((await self._devices.start(self.claims)).slices)
        if settings.explains:
            informers += await self._start_explain()
        manager.watch(*informers)
        if settings.pool_status != "off":
            manager.spawn_once(self._devices.start_pool_status(self._stored_claims))
        if settings.cluster_templates:
            manager.spawn_once(self._start_cluster_templates())
        if settings.findings:
            await self._start_findings()
        if settings.preemption != "off":
            await self._start_preemption()
        if settings.maintenance:
            manager.spawn_once(self._start_maintenance())

    def resume(self) -> None:
        """Continue in the claims mode of the previous leader, if it was configured alike."""
        if self._elector is None or self.claims is None:
            return
        found, configured = self._elector.annotations, self._settings.claims
        alike = found.get(CONFIGURED_ANNOTATION) == configured
        self._mode.resume(found.get(MODE_ANNOTATION) if alike else None)
        self._elector.annotate(CONFIGURED_ANNOTATION, configured)

    def longest_running(self) -> float:
        """Return for how many seconds a worker has been busy with one key."""
        claims = self.claims.queue.longest_running() if self.claims is not None else 0.0
        return max(claims, self._devices.longest_running())

    def _leading(self) -> bool:
        return self._elector is None or self._elector.leading

    def _start_claims(self) -> Iterable[Informer[Any]]:
        settings, served = self._settings, self._served
        claims = self.claims = ClaimController(
            self._client,
            served,
            self._recorder,
            self._mode,
            may_write=self._leading,
            active=settings.claims != "off",
            by_device=settings.requires_devices or settings.maintenance,
            workers=settings.workers,
            resync=settings.resync,
            safe_release=self._safe_release(),
        )
        claims.register_metrics()
        self._manager.on_stop.append(claims.unregister_metrics)
        self._manager.ready_checks.append(claims.unready)
        self._manager.leaders.append(claims.run)
        log.info(
            "Controlling claims",
            mode=settings.claims,
            api_version=served.claims.api_version,
            podgroups=served.groups.api_version if served.groups else "have no claims",
        )
        return claims.informers

    def _safe_release(self) -> SafeReleaseOptions | None:
        settings = self._settings
        if not settings.safe_release or settings.claims == "off":
            return None
        holds = settings.claims == "own"
        if not holds:
            log.warning(
                "Claims are not released safely: another controller may release them; "
                "--safe-release needs --claims=own",
                mode=settings.claims,
            )
        return SafeReleaseOptions(holds, settings.safe_release_grace)

    def _stored_claims(self) -> ClaimController:
        """Return the claim controller; start one that only stores where there is none."""
        if self.claims is None:
            self._manager.watch(*self._start_claims())
        assert self.claims is not None
        return self.claims

    async def _start_explain(self) -> Iterable[Informer[Any]]:
        # In a thread: the allocator and CEL take a fifth of the start, and 20 MiB.
        await asyncio.to_thread(import_module, "dragoman.controllers.explain.controller")
        from dragoman.controllers.explain import controller  # noqa: PLC0415 — see above

        settings = self._settings
        devices = await retried(
            "Cannot look for devices", discover_devices, self._client, self._served
        )
        explain = self._explain = controller.ExplainController(
            self._client,
            self._served,
            devices,
            self._recorder if settings.explain_events else None,
            infos=settings.device_metrics,
            resync=settings.resync,
            wait=settings.explain_after,
            interval=settings.explain_interval,
        )
        explain.register_metrics()
        self._manager.on_stop += [explain.unregister_metrics, explain.stop]
        self._manager.leaders.append(explain.run)
        log.info("Explaining pods that wait for devices", events=settings.explain_events)
        return explain.informers

    async def _start_cluster_templates(self) -> None:
        await wait_served(self._client, CLUSTERTEMPLATES)
        templates = self._templates()
        controller = ClusterTemplateController(
            self._client,
            templates,
            self._recorder,
            may_write=self._leading,
            resync=self._settings.resync,
        )
        self._manager.watch(*controller.informers)
        self._manager.on_leading.append(controller.enqueue_all)
        self._manager.spawn("cluster templates", controller.run())

    def _templates(self) -> Informer[Template]:
        if self.claims is not None:
            return self.claims.informers.templates
        templates = storing_informer(self._client, self._served.templates, Template.parse)
        self._manager.watch(templates)
        return templates

    async def _start_findings(self) -> None:
        # In a thread: claims are reconciled while the allocator and CEL load.
        await asyncio.to_thread(import_module, "dragoman.controllers.findings.controller")
        from dragoman.controllers.findings import controller  # noqa: PLC0415 — see above

        interval = self._settings.findings_interval
        findings = controller.FindingsController(
            self._client, self._recorder, self._leading, interval
        )
        log.info("Looking for findings", seconds=interval)
        self._manager.spawn("findings", findings.run())

    async def _start_preemption(self) -> None:
        # In a thread: claims are reconciled while the allocator and CEL load.
        await asyncio.to_thread(import_module, "dragoman.controllers.preemption.controller")
        from dragoman.controllers.preemption import controller  # noqa: PLC0415 — see above

        settings = self._settings
        policy = controller.Policy(
            settings.preemption_min_gap,
            settings.preemption_max_victims,
            controller.Select(settings.preemption_select),
            (*settings.preemption_protected_namespaces, settings.namespace),
            settings.preemption_schedulers,
        )
        log.info("Planning which pods would have to end for others", mode=settings.preemption)
        self._manager.spawn_once(self._run_preemption(policy))

    def _unbound_pods(self) -> list[Any] | None:
        """Return the pods that may wait for devices, None where they are not stored."""
        if self._explain is None or self._explain.unready() is not None:
            return None
        return [one.value.document for one in self._explain.state.pods if one.value is not None]

    async def _run_preemption(self, policy: Any) -> None:
        from dragoman.controllers.preemption.start import start  # noqa: PLC0415 — as above

        await wait_served(self._client, DEVICEPREEMPTIONS)
        running = start(
            self._client,
            self._served,
            self._settings,
            policy,
            recorder=self._recorder,
            leading=self._leading,
            stored=self._unbound_pods,
        )
        self._manager.spawn("preemption", running)

    async def _start_maintenance(self) -> None:
        await wait_served(self._client, DEVICEMAINTENANCES)
        await asyncio.to_thread(import_module, "dragoman.controllers.maintenance.controller")
        from dragoman.controllers.maintenance import controller, published, view  # noqa: PLC0415

        stored = self._stored_claims()
        devices = await self._devices.watched(stored)
        version = await retried("Cannot read the server's version", server_version, self._client)
        maintenance = controller.MaintenanceController(
            self._client,
            self._served,
            view.SharedView(stored, devices),
            published.StoredDevices(devices, version_name(version)),
            may_write=self._leading,
            namespace=self._settings.namespace,
            resync=self._settings.resync,
        )
        self._manager.watch(maintenance.objects.informer)
        self._manager.on_leading.append(maintenance.enqueue_all)
        self._manager.spawn("maintenance", maintenance.run())
