"""`python -m tests.ui.screenshots`: take the pictures of the page that docs/ shows."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from tests.ui.browser import PHONE, Window, launched

ROOT = Path(__file__).parents[2]
SAMPLE = "examples/toolkit/cluster.jsonl"
DESKTOP_PICTURE = ROOT / "docs/toolkit/ui.png"
PHONE_PICTURE = ROOT / "docs/toolkit/ui-phone.png"
SIZE = (1440, 900)
COLORS = 256
"""Enough for text and flat areas: the file is less than half as large as with all."""


def main() -> None:
    """Write the page of the sample cluster, take its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        command = [sys.executable, "-m", "dragoman", "top", "--html", str(file)]
        subprocess.run([*command, "--snapshot", SAMPLE], cwd=ROOT, check=True)
        with launched() as browser:
            desktop(browser, file.as_uri())
            phone(browser, file.as_uri())
    for picture in (DESKTOP_PICTURE, PHONE_PICTURE):
        with Image.open(picture) as taken:
            taken.convert("RGB").quantize(COLORS, method=Image.Quantize.FASTOCTREE).save(
                picture, optimize=True
            )
        print(picture.relative_to(ROOT))


def desktop(browser: Browser, address: str) -> None:
    """Take the whole page, with a device chosen."""
    window = Window(browser, SIZE, color_scheme="light", timezone_id="UTC")
    window.page.goto(address)
    window.page.get_by_role("gridcell", name="gpu-3: tainted").click()
    window.page.screenshot(path=DESKTOP_PICTURE, full_page=True)
    window.close()


def phone(browser: Browser, address: str) -> None:
    """Take the first screen of a phone, with the pixels of one."""
    window = Window(browser, PHONE, color_scheme="light", timezone_id="UTC", device_scale_factor=2)
    window.page.goto(address)
    window.page.screenshot(path=PHONE_PICTURE)
    window.close()


if __name__ == "__main__":
    main()
