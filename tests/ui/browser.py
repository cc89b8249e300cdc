"""Debian's chromium, driven by Playwright; `python -m tests.ui.browser` installs it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

DESKTOP = (1400, 900)
PHONE = (390, 844)
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_MISSING = "install chromium, or name a browser of its kind in DRAGOMAN_CHROMIUM"


def executable() -> str:
    """Return the browser's path; empty where there is none."""
    named = os.environ.get("DRAGOMAN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), "")


@contextmanager
def launched() -> Iterator[Browser]:
    """Run the browser."""
    # The sandbox refuses to work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(), args=arguments, timeout=120_000
        )
        yield browser
        browser.close()


def chromium() -> Iterator[Browser]:
    """Run the browser for the tests of a module; skip them where it is not installed."""
    if not executable():
        pytest.skip("chromium is not installed; `make test-ui` installs it or says why it cannot")
    with launched() as running:
        yield running


class Window:
    """A window, and what went wrong or out of it.

    Args:
        browser: In which it is opened.
        size: Width and height in pixels.
        more: Options of Playwright's new_context.
    """

    def __init__(self, browser: Browser, size: tuple[int, int] = DESKTOP, **more: Any) -> None:
        viewport = ViewportSize(width=size[0], height=size[1])
        self.context: BrowserContext = browser.new_context(viewport=viewport, **more)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def close(self) -> None:
        """Close the window."""
        self.context.close()


def install() -> str:
    """Install the browser; return why that cannot be done, empty where it is there."""
    if executable():
        return ""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"chromium is missing, and only root can install it with apt-get: {_MISSING}"
    print("installing chromium with apt-get, about a minute", flush=True)
    apt = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*apt, "update"], check=False, env=quiet)
    command = [*apt, "install", "-y", "--no-install-recommends", "chromium"]
    done = subprocess.run(command, check=False, env=quiet, capture_output=True, text=True)
    if done.returncode or not executable():
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        return f"apt-get cannot install chromium ({last}): {_MISSING}"
    return ""


if __name__ == "__main__":
    if reason := install():
        sys.exit(reason)
