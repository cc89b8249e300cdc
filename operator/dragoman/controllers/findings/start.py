"""The start of what examines the cluster."""

from dragoman.controllers.findings.controller import FindingsController
from dragoman.controllers.process import Process, Run
from dragoman.logs import logger

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Need nothing that is watched: each pass lists what no other controller keeps."""
    interval = process.settings.findings_interval
    findings = FindingsController(process.context, interval)
    log.info("Looking for findings", seconds=interval)
    return findings.run
