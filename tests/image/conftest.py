"""The image, built once for the tests that run it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.image.build import Image, build
from tests.image.container import unpack
from tests.image.debian import MmdebstrapMissingError


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The image as a container runtime has it.

    Attributes:
        root: Its root file system.
        config: Its configuration: Entrypoint, Env, User, …
    """

    root: Path
    config: dict[str, Any]


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Build the image, which takes a minute."""
    folder = tmp_path_factory.mktemp("image")
    try:
        yield build(folder)
    except MmdebstrapMissingError as error:
        pytest.skip(str(error))
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def unpacked(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unpacked]:
    """Unpack the archive: what is tested is what would be shipped."""
    root = tmp_path_factory.mktemp("unpacked")
    yield Unpacked(root, unpack(image.archive, root))
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def runnable(unpacked: Unpacked) -> Unpacked:
    """Skip where no container can be run."""
    if os.geteuid() != 0:
        pytest.skip("only root may change the root file system and the user of a process")
    return unpacked
