"""Whether a running webhook refuses what it must: dry runs of things that are wrong on purpose.

Nothing is stored. A refusal counts only in the webhook's own words, so neither RBAC nor a webhook
that cannot be reached passes for one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dragoman.kube.client import Client
from dragoman.kube.discovery import discover
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import DRIVERCONFIGSCHEMAS, Resource
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.strictjson import parse

NAME = "dragoman-verify"
DRIVER = "verify.dragoman.dev"
PAUSE = 0.5
"""Seconds between tries: the API server follows new webhooks and schemas with delay."""
PASSING = frozenset({0, 404, 429})
"""Statuses that soon may be others, beside those of 500 and more."""
REFUSED = "denied the request"
"""What the API server says of a webhook that answered no; of one that did not answer, it says other
things."""


@dataclass(frozen=True, slots=True)
class WebhookTrial:
    """Something that must be refused."""

    what: str  # In words
    webhook: str  # Name of the webhook that must refuse it
    path: str  # Of the collection that it would be created in
    document: Mapping[str, Any]  # The object


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a trial."""

    trial: WebhookTrial  # What was tried
    fault: str = ""  # Why it counts as failed; empty when it was refused
    answer: str = ""  # What the webhook said
    passing: bool = False  # Whether it may be otherwise soon


async def trials(api: Client) -> list[WebhookTrial]:
    """Return what the webhook must refuse: a broken schema, and a config of each driver.

    Drivers are left out whose schemas would let in or only warn of what they do not know.
    """
    listed = (await api.get(DRIVERCONFIGSCHEMAS.path())).get("items") or []
    served = await discover(api, podgroup_claims="off")
    classes = Resource(served.claims.group, served.claims.version, "deviceclasses")
    registry = Registry.of(listed)
    drivers = sorted({str(document["spec"]["driver"]) for document in listed})
    made = {driver: _class(classes.api_version, driver) for driver in drivers}
    return [
        WebhookTrial(
            "a DriverConfigSchema that does not compile",
            "schemas.dragoman.dev",
            DRIVERCONFIGSCHEMAS.path(),
            _broken_schema(),
        ),
        *(
            WebhookTrial(
                f"a DeviceClass with a config that driver {driver} does not know",
                "configs.dragoman.dev",
                classes.path(),
                document,
            )
            for driver, document in made.items()
            if not validate_configs(registry, "DeviceClass", parse(orjson.dumps(document))).allowed
        ),
    ]


async def verify(api: Client, timeout: float) -> AsyncIterator[Result]:  # noqa: ASYNC109 — of all tries together
    """Try everything, again and again until the time is over; yield the results.

    Args:
        api: Whose webhooks are tried.
        timeout: Seconds.

    Raises:
        ApiError: It cannot be found out what there is.
    """
    ends = time.monotonic() + timeout
    for trial in await trials(api):
        result = await _tried(api, trial)
        while result.passing and time.monotonic() < ends:
            await asyncio.sleep(PAUSE)
            result = await _tried(api, trial)
        yield result


async def _tried(api: Client, trial: WebhookTrial) -> Result:
    try:
        await api.request("POST", trial.path, trial.document, query={"dryRun": "All"})
    except ApiError as error:
        said = str(error)
        if f'admission webhook "{trial.webhook}" {REFUSED}' in said:
            return Result(trial, answer=said)
        passing = error.code >= 500 or error.code in PASSING
        return Result(trial, f"was answered by something else: {said}", passing=passing)
    fault = f"was let in: the webhook {trial.webhook} was not asked, or could not answer"
    return Result(trial, fault, passing=True)


def _broken_schema() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}
    return {
        "apiVersion": DRIVERCONFIGSCHEMAS.api_version,
        "kind": "DriverConfigSchema",
        "metadata": {"name": NAME},
        "spec": {
            "driver": DRIVER,
            "configs": [{"apiVersion": f"{DRIVER}/v1", "kind": "Broken", "schema": schema}],
        },
    }


def _class(api_version: str, driver: str) -> dict[str, Any]:
    parameters = {"apiVersion": f"{DRIVER}/v1", "kind": "NoSuchConfig"}
    return {
        "apiVersion": api_version,
        "kind": "DeviceClass",
        "metadata": {"name": NAME},
        "spec": {"config": [{"opaque": {"driver": driver, "parameters": parameters}}]},
    }
