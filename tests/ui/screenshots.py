"""`python -m tests.ui.screenshots`: take the picture of docs/toolkit/ui.md."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image

from tests.ui.browser import Window, launched

ROOT: Final = Path(__file__).parents[2]
SAMPLE: Final = "examples/toolkit/cluster.jsonl"
PICTURE: Final = ROOT / "docs/toolkit/ui.png"
SIZE: Final = (1440, 900)
COLORS: Final = 256
"""Enough for text and flat areas: the file is less than half as large as with all."""


def main() -> None:
    """Write the page of the sample cluster, choose a device, take a picture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        command = [sys.executable, "-m", "dragoman", "top", "--html", str(file)]
        subprocess.run([*command, "--snapshot", SAMPLE], cwd=ROOT, check=True)
        with launched() as browser:
            window = Window(browser, SIZE, color_scheme="light", timezone_id="UTC")
            window.page.goto(file.as_uri())
            window.page.get_by_role("gridcell", name="gpu-3: tainted").click()
            window.page.screenshot(path=PICTURE, full_page=True)
            window.close()
    with Image.open(PICTURE) as taken:
        taken.convert("RGB").quantize(COLORS, method=Image.Quantize.FASTOCTREE).save(
            PICTURE, optimize=True
        )
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
