"""`kubectl dra ui` follows a real cluster in a real browser."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import expect

from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane
from tests.ui.browser import Window

Windows = Callable[..., Window]
DRIVER = "page.example.com"
NODE = "page-node"


@contextmanager
def served(plane: ControlPlane, *flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command; yield the page's address, and the process."""
    command = [sys.executable, "-m", "dragoman", "ui", "--no-browser", "--interval", "0.5"]
    command += ["--kubeconfig", str(plane.kubeconfig), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/\S+", line)
            assert found is not None, line
            yield found[0], process
            process.send_signal(signal.SIGINT)
            process.wait(30)
        finally:
            process.kill()


def test_changes_appear_without_a_reload(
    plane: ControlPlane, namespace: str, windows: Windows
) -> None:
    api = plane.api()
    api.create(objects.device_class("page", DRIVER))
    api.create(objects.claim("used", namespace, "page"))
    api.create(objects.pod("user", namespace, claims={"gpu": "used"}))
    try:
        # The page lists 200 pods; those of other tests may wait, too.
        with served(plane, "-n", namespace) as (address, process):
            window = windows()
            page = window.page
            page.goto(address)
            expect(page.locator("#live")).to_have_text("Live")
            pod = page.locator(f"#waiting details[data-pod='{namespace}/user']")
            expect(pod).to_be_visible()
            if pod.get_attribute("open") is None:
                pod.locator("summary").click()
            # Without nodes there is nothing to search; those of other tests have no such device.
            none = f"fits on none of the 0 nodes|can never fit: no ResourceSlice of driver {DRIVER}"
            expect(pod).to_contain_text(re.compile(none))
            with page.expect_popup() as opened:
                pod.get_by_role("link", name="YAML, Events of Pod user").click()
            expect(opened.value.locator("body")).to_contain_text("kind: Pod")
            expect(opened.value.locator("body")).to_contain_text("Events")
            opened.value.close()

            api.create(objects.node(NODE))
            api.create(objects.resource_slice(NODE, ["a", "b"], DRIVER))
            row = page.get_by_role("row", name=NODE)
            expect(row).to_be_visible(timeout=20_000)
            expect(pod).to_have_count(0)  # the scheduler has placed it
            used = row.get_by_role("gridcell", name=f"used by {namespace}/user")
            expect(used).to_have_count(1)

            used.focus()
            page.keyboard.press("Enter")
            expect(page.locator("#device")).to_contain_text(f"{namespace}/used")
            slice_ = api.get("resourceslices", f"{NODE}-{DRIVER}")
            slice_["spec"]["devices"].append({"name": "c"})
            api.update(slice_)
            expect(row.locator(".dots .dot")).to_have_count(3)
            expect(used).to_be_focused()  # the update kept the focus

            api.delete("resourceslices", f"{NODE}-{DRIVER}")
            lost = page.get_by_role("gridcell", name=f"lost by {namespace}/user")
            expect(lost).to_have_count(1)
            assert {url.partition("/")[2].split("/")[1] for url in window.requests} == {
                address.split("/")[2]
            }

            process.send_signal(signal.SIGINT)
            process.wait(30)
            expect(page.locator("#live")).to_have_text("Not current")
            expect(page.get_by_role("alert")).to_contain_text("start it again")
            window.errors.clear()  # of the connection that ended
    finally:
        api.delete("deviceclasses", "page")
        for plural, name in (("nodes", NODE), ("resourceslices", f"{NODE}-{DRIVER}")):
            if api.find(plural, name):
                api.delete(plural, name)


def test_other_sites_cannot_read_the_page(plane: ControlPlane, windows: Windows) -> None:
    with served(plane, "-A") as (address, _):
        host = address.split("/")[2]
        window = windows()
        page = window.page
        refused = page.goto(f"http://{host}/")
        assert refused is not None
        assert refused.status == 403
        by_name = page.goto(address.replace("127.0.0.1", "localhost"))
        assert by_name is not None
        assert by_name.status == 200
        page.goto("data:text/html,<title>other</title>")
        read = page.evaluate(
            "address => fetch(address).then((answer) => answer.text(), () => 'refused')", address
        )
        assert read == "refused"
        framed = page.evaluate(
            """address => new Promise((done) => {
              const frame = document.createElement("iframe");
              frame.onload = () => { try { done(frame.contentDocument?.title ?? "hidden"); }
                catch { done("hidden"); } };
              frame.src = address;
              document.body.append(frame);
            })""",
            address,
        )
        assert framed in ("hidden", "")
        window.errors.clear()  # the browser's words about both refusals
