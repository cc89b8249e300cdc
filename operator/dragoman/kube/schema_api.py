"""The API of DriverConfigSchemas, and whether the API server has it; costs next to no import."""

import asyncio

from dragoman.kube.client import ApiError, Client, Resource
from dragoman.logs import logger

SCHEMAS = Resource("dragoman.dev", "v1alpha1", "driverconfigschemas")
SERVED_PAUSE = 5.0
"""Seconds between looks for the CRD."""

log = logger("dragoman.schemas")


async def wait_served(api: Client) -> None:
    """Wait until there is the CRD; everyone may ask this, also without a rule about it."""
    told = False
    while True:
        try:
            await api.get(f"/apis/{SCHEMAS.api_version}")
        except ApiError as error:
            if not told:
                log.info("Waiting for DriverConfigSchemas", code=error.code, error=str(error))
            told = True
            await asyncio.sleep(SERVED_PAUSE)
        else:
            return
