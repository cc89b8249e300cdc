"""The generated reference pages follow the code, and the site has what others point to."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser

from docs import generate_manual
from dragoman.cli import COMMANDS
from tests.docs.pages import ROOT, blocks
from tests.ui.browser import DESKTOP, PHONE, Window, chromium


@pytest.mark.parametrize(
    ("page", "text"), generate_manual.pages().items(), ids=lambda one: getattr(one, "name", "")
)
def test_generated_pages_are_current(page: Path, text: str) -> None:
    assert page.read_text() == text, "run `make pages`"


def test_every_command_and_example_is_on_the_page() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    for command in COMMANDS:
        assert f"### {command}\n" in page
    assert "kubectl dra explain pod trainer -n ml" in page
    assert "| `--no-browser` |" in page


def test_alerts_link_to_the_address_of_the_site() -> None:
    values = yaml.safe_load((ROOT / "charts/dragoman/values.yaml").read_text())
    config = (ROOT / "mkdocs.yml").read_text()
    address = values["monitoring"]["prometheusRule"]["runbooks"]
    assert f"site_url: {address.removesuffix('runbooks')}\n" in config


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Build the site as `make docs` does; return its folder and what mkdocs said."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


@pytest.fixture(scope="module")
def site(built: tuple[Path, str]) -> Iterator[tuple[Path, str]]:
    """Serve the site; yield its folder and address."""
    folder, _ = built

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — its name there
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{found.server_port}/"
        found.shutdown()


browser = pytest.fixture(chromium, scope="module", name="browser")


def test_the_site_is_built_without_warnings(built: tuple[Path, str]) -> None:
    folder, said = built
    assert "WARNING" not in said
    assert (folder / "troubleshooting/index.html").exists()


def test_every_alert_has_its_runbook_on_the_site(site: tuple[Path, str]) -> None:
    groups = yaml.safe_load((ROOT / "charts/dragoman/files/alerts.yaml").read_text())["groups"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"]]
    assert len(alerts) > 10
    missing = [name for name in alerts if not (site[0] / f"runbooks/{name}/index.html").exists()]
    assert missing == []


@pytest.mark.slow
def test_the_site_fits_and_loads_nothing_from_other_hosts(
    site: tuple[Path, str], browser: Browser
) -> None:
    address = site[1]
    visited = ("", "quickstart/", "cli/", "values/", "api/", "toolkit/who/", "comparison/")
    code = "[...document.querySelectorAll('pre > code')]"
    # What commands print keeps its columns, and scrolls; everything else wraps.
    wide = "one => one.scrollWidth > one.clientWidth"
    scrolls = "getComputedStyle(one).overflowX == 'auto'"
    cut = f"{code}.filter({wide}).some(one => !(one.querySelector('.go') && {scrolls}))"
    for size in (DESKTOP, PHONE):
        window = Window(browser, size)
        for page in visited:
            window.page.goto(address + page)
            window.page.wait_for_load_state("networkidle")
            fits = "document.documentElement.scrollWidth <= innerWidth"
            assert window.page.evaluate(fits), (page, size)
            assert not window.page.evaluate(cut), (page, size)
        assert [url for url in window.requests if not url.startswith((address, "data:"))] == []
        assert window.errors == []
        window.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("page", ["toolkit/who", "install"])
def test_the_copy_button_copies_commands_alone(
    site: tuple[Path, str], browser: Browser, page: str, size: tuple[int, int]
) -> None:
    window = Window(browser, size, permissions=["clipboard-read", "clipboard-write"])
    window.page.goto(f"{site[1]}{page}/")
    window.page.locator(".md-clipboard, [data-md-type=copy]").first.click()
    window.page.get_by_text("Copied to clipboard").wait_for()
    copied = window.page.evaluate("navigator.clipboard.readText()")
    window.close()
    first = next(block for block in blocks(ROOT / f"docs/{page}.md") if block.runs)
    assert copied.splitlines() == [
        line for command in first.commands for line in command.line.splitlines()
    ]
