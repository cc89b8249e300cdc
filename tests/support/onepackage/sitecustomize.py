"""Let only one package, and those below it, be imported: `make unit PACKAGE=cel`.

Python imports this module at its start where its folder is in PYTHONPATH, in the test process and
in every Python process that a test starts.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

ORDER = ("base", "cel", "configs", "webhooks", "dragoman", "toolkit", "drivers")
"""Packages from the lowest to the highest, as `make lint` keeps them."""


def module(package: str) -> str:
    """Return the name by which a package is imported."""
    return package if package == "dragoman" else f"dragoman_{package}"


class Above(MetaPathFinder):
    """Rejects imports of packages above one."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.above = {module(one) for one in ORDER[ORDER.index(package) + 1 :]}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 — part of the interface
        target: ModuleType | None = None,  # noqa: ARG002 — part of the interface
    ) -> None:
        """Find nothing, so that the next finder is asked, and fail for a package above."""
        if fullname.partition(".")[0] in self.above:
            raise ModuleNotFoundError(
                f"{fullname} is above {self.package}: its unit tests run without it", name=fullname
            )


if "DRAGOMAN_PACKAGE" in os.environ:
    sys.meta_path.insert(0, Above(os.environ["DRAGOMAN_PACKAGE"]))
