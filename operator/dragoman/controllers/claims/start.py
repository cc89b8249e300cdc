"""The start of the claim controller."""

from functools import partial

from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.controllers.claims.controller import ClaimController
from dragoman.controllers.claims.mode import CONFIGURED_ANNOTATION, MODE_ANNOTATION, ClaimMode
from dragoman.controllers.claims.saferelease import SafeReleaseOptions
from dragoman.controllers.process import Process, Run
from dragoman.logs import logger
from dragoman.settings import Settings

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Let claims, and the pods that use them, be watched."""
    settings, cluster, elector = process.settings, process.cluster, process.elector
    mode = ClaimMode(
        settings.claims,
        grace=settings.grace,
        takeover_after=settings.takeover_after,
        keep=lambda mode: elector.annotate(MODE_ANNOTATION, mode.value) if elector else None,
    )
    safe = _safe_release(settings)
    claims = ClaimController(
        process.context,
        cluster,
        mode,
        workers=settings.workers,
        resync=settings.resync,
        safe_release=safe,
    )
    if safe is not None:
        cluster.essential.append(cluster.nodes)
        cluster.require(cluster.nodes)
    process.shared(ClaimCollector).safe = claims.safe
    cluster.require(*cluster)
    process.manager.on_leading.append(partial(_resume, process, mode))
    process.manager.spawn_once(claims.observe())
    process.busy.append(claims.queue.longest_running)
    groups = cluster.served.groups
    log.info(
        "Controlling claims",
        mode=settings.claims,
        api_version=cluster.served.claims.api_version,
        podgroups=groups.api_version if groups else "have no claims",
    )
    return claims.run


def _safe_release(settings: Settings) -> SafeReleaseOptions | None:
    if not settings.safe_release:
        return None
    holds = settings.claims == "own"
    if not holds:
        log.warning(
            "Claims are not released safely: another controller may release them; "
            "--safe-release needs --claims=own",
            mode=settings.claims,
        )
    return SafeReleaseOptions(
        holds,
        settings.safe_release_grace,
        settings.safe_release_margin,
        settings.safe_release_limit,
    )


def _resume(process: Process, mode: ClaimMode) -> None:
    """Continue in the claims mode of the previous leader, if it was configured alike."""
    if process.elector is None:
        return
    found, configured = process.elector.annotations, process.settings.claims
    alike = found.get(CONFIGURED_ANNOTATION) == configured
    mode.resume(found.get(MODE_ANNOTATION) if alike else None)
    process.elector.annotate(CONFIGURED_ANNOTATION, configured)
