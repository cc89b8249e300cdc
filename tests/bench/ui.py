"""`python -m tests.bench.ui`: first paint and interactions of the page of 1,000 nodes."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ui.browser import Window, launched
from tests.ui.clusters import cluster
from tests.ui.conftest import snapshot_file

NODES = 1000
ROUNDS = 5
TARGET = 1000
"""Milliseconds from the navigation to the first paint."""
INTERACTION = 100
"""Milliseconds from a click to the frame that shows what it did."""
_DRAGOMAN = (sys.executable, "-m", "dragoman")
_PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
    const [found] = list.getEntriesByName('first-contentful-paint');
    if (found) done(found.startTime);
}).observe({ type: 'paint', buffered: true }))"""

_CLICKS = {
    "filter": "document.querySelector('[name=state][value=used]')",
    "device": "[...document.querySelectorAll('#grid .dot')].find((dot) => dot.offsetParent)",
}
_UNTIL_SHOWN = """async () => {
    const target = TARGET, start = performance.now();
    target.click();
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    return performance.now() - start;
}"""


@contextmanager
def served(snapshot: Path) -> Iterator[str]:
    """Serve the page of a snapshot; yield its address."""
    command = [*_DRAGOMAN, "ui", "--no-browser", "--snapshot", str(snapshot)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


def paints(address: str) -> Iterator[float]:
    """Yield milliseconds to the first paint, each time in a fresh browser window."""
    with launched() as browser:
        for _ in range(ROUNDS + 1):
            window = Window(browser)
            window.page.goto(address)
            yield float(window.page.evaluate(_PAINT))
            window.close()


def interactions(address: str) -> dict[str, float]:
    """Return the median of milliseconds for each kind of click, in one window."""
    with launched() as browser:
        window = Window(browser)
        window.page.goto(address)
        window.page.locator("#shown").filter(has_text="devices").wait_for()  # the filters have run
        found = {
            name: statistics.median(
                float(window.page.evaluate(_UNTIL_SHOWN.replace("TARGET", target)))
                for _ in range(2 * ROUNDS)
            )
            for name, target in _CLICKS.items()
        }
        window.close()
    return found


def main() -> int:
    """Measure both pages; return 1 where one of them misses a target."""
    missed = 0
    print(f"{NODES} nodes x 8 devices, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_file(Path(folder), *cluster(NODES))
        file = Path(folder) / "page.html"
        command = [*_DRAGOMAN, "top", "--html", str(file), "--snapshot", str(snapshot)]
        subprocess.run(command, check=True)
        with served(snapshot) as address:
            for name, where in (("ui", address), ("top --html", file.as_uri())):
                _, *found = paints(where)  # the first one warms the browser
                middle = statistics.median(found)
                missed |= middle > TARGET
                print(f"{name}: first paint after {middle:.0f} ms (max {max(found):.0f} ms)")
                for click, took in interactions(where).items():
                    missed |= took > INTERACTION
                    print(f"{name}: {click} shown after {took:.0f} ms")
    return missed


if __name__ == "__main__":
    sys.exit(main())
