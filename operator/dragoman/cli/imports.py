"""Imports that leave out what is heavy and not used."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_models() -> Iterator[None]:
    """Let what the block imports find no `kubernetes`, the client library with its models.

    kopf imports it where it is installed, to recognize models that are given as objects. dragoman
    gives none, and without the models it starts in two thirds of the time and takes 20 MB less.
    The kubeconfigs that need the library import it afterwards.
    """
    if "kubernetes" in sys.modules:
        yield
        return
    # None is Python's own way to say that there is no such module; the type knows modules only.
    sys.modules["kubernetes"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.modules.pop("kubernetes", None)
