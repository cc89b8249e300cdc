"""Opens the page in a browser without telling its address to other users of the machine."""

import tempfile
import webbrowser
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_REDIRECT: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>kubectl dra ui</title>
<p>The page is at <a href="{address}">{address}</a>.
"""


class Opener:
    """A file, readable by its user alone, that leads a browser to an address.

    The arguments of processes can be read by all users of a machine, so that the browser gets the
    name of the file. It is deleted on exit: browsers may start slowly.

    Args:
        address: Of the page, with its token.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._file: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def open(self) -> bool:
        """Open the browser; return whether there is one."""
        try:
            # Made with mode 0600.
            with tempfile.NamedTemporaryFile(
                "w", prefix="dragoman-ui-", suffix=".html", delete=False, encoding="utf-8"
            ) as file:
                self._file = Path(file.name)
                file.write(_REDIRECT.format(address=escape(self._address)))
        except OSError:
            return False
        return webbrowser.open(self._file.as_uri())
