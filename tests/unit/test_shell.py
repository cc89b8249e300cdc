"""kopf as a shell: nothing of its own is written, and nothing of it holds up the end."""

import asyncio
from itertools import islice

import kopf
from kopf._cogs.aiokits.aiotoggles import ToggleSet
from kopf._cogs.clients import watching
from kopf._cogs.structs import references

from dragoman.shell import cancel_forgotten, configure_kopf


def configured() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    configure_kopf(settings)
    return settings


def test_kopf_gets_nothing_to_write_and_touches_no_finalizer_of_others() -> None:
    settings = configured()
    assert not settings.posting.enabled
    assert settings.persistence.finalizer != kopf.OperatorSettings().persistence.finalizer
    body = kopf.Body({"metadata": {"annotations": {"theirs": "stays"}}})
    patch = kopf.Patch()
    settings.persistence.diffbase_storage.store(body=body, patch=patch, essence={})
    assert settings.persistence.diffbase_storage.fetch(body=body) is None
    assert dict(patch) == {}


def test_kopf_never_gives_up_a_watch() -> None:
    backoffs = configured().networking.error_backoffs
    assert not isinstance(backoffs, float)
    assert len([*islice(backoffs, 1000)]) == 1000


async def test_the_task_that_kopf_forgets_has_the_name_by_which_it_is_known() -> None:
    """It is kopf's own code that names it: another version may do so otherwise."""
    resource = references.Resource("", "v1", "pods")
    paused = ToggleSet(any)
    block = watching.streaming_block(resource=resource, namespace=None, operator_paused=paused)
    async with block as waiter:
        cancel_forgotten()
        await asyncio.wait({waiter}, timeout=1.0)
        assert waiter.cancelled()


async def test_only_the_task_that_kopf_forgot_is_cancelled() -> None:
    forgotten = asyncio.create_task(asyncio.Event().wait(), name="pause-waiter for pods.v1")
    other = asyncio.create_task(asyncio.Event().wait(), name="somebody's")
    cancel_forgotten()
    await asyncio.wait({forgotten}, timeout=1.0)
    assert forgotten.cancelled()
    assert not other.done()
    other.cancel()
