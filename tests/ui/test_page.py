"""The page in a real browser: filters, keyboard, names for screen readers, colours, sizes."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support import manifests as objects
from tests.support.dra import invoke
from tests.support.worlds import hostilenames as hostile
from tests.support.worlds.inventory import claim, device_class, held, pod, pool
from tests.ui.browser import DESKTOP, PHONE, Window
from tests.ui.clusters import cluster
from tests.ui.conftest import snapshot_file

Windows = Callable[..., Window]


def written(folder: Path, *manifests: Any) -> str:
    """Write the page of a cluster; return its address."""
    file = folder / "page.html"
    snapshot = snapshot_file(folder, *manifests)
    assert invoke("top", "--html", file, "--snapshot", snapshot).exit_code == 0
    return file.as_uri()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the page of 10 nodes."""
    return written(tmp_path_factory.mktemp("small"), *cluster(10))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the page of 1,000 nodes."""
    return written(tmp_path_factory.mktemp("large"), *cluster(1000))


@pytest.fixture
def page(small: str, windows: Windows) -> Page:
    """The page of 10 nodes on a desktop."""
    found = windows().page
    found.goto(small)
    return found


def expect_shown(page: Page, words: str) -> None:
    """Wait until the page says that the filters leave so many devices and nodes."""
    expect(page.locator("#shown")).to_have_text(words)


def expect_focused(page: Page, name: str) -> None:
    """Wait until what has the focus has this accessible name."""
    expect(page.locator("*:focus")).to_have_attribute("aria-label", name)


def test_the_file_asks_for_no_other(small: str, windows: Windows) -> None:
    window = windows()
    window.page.goto(small)
    assert window.requests == [small]


def test_every_state_has_its_dots(page: Page) -> None:
    counts = {"free": 25, "used": 45, "tainted": 1, "held": 1, "unusable": 8, "lost": 1}
    for state, count in counts.items():
        expect(page.locator(f"#grid .dot.{state}")).to_have_count(count)
        label = page.locator("#legend label").filter(has=page.locator(f"[value={state}]"))
        expect(label.locator("b")).to_have_text(str(count))


def test_filters(page: Page) -> None:
    expect_shown(page, "81 of 81 devices on 11 of 11 nodes")
    page.locator("#node").fill("node-0004")
    expect_shown(page, "8 of 81 devices on 1 of 11 nodes")
    page.get_by_role("button", name="Reset").click()
    expect_shown(page, "81 of 81 devices on 11 of 11 nodes")
    page.locator("#namespace").select_option("ml")
    expect_shown(page, "36 of 81 devices on 9 of 11 nodes")
    expect(page.locator("#waiting details:visible")).to_have_count(0)
    page.locator("#namespace").select_option("")
    page.locator("#class").select_option("other")
    expect_shown(page, "0 of 81 devices on 0 of 11 nodes")
    page.locator("#class").select_option("gpu")
    expect_shown(page, "80 of 81 devices on 10 of 11 nodes")
    page.locator("[name=state][value=used]").uncheck()
    expect_shown(page, "35 of 81 devices on 10 of 11 nodes")


def test_filters_survive_a_reload(page: Page) -> None:
    page.locator("#namespace").select_option("web")
    page.reload()
    expect(page.locator("#namespace")).to_have_value("web")
    expect_shown(page, "10 of 81 devices on 10 of 11 nodes")


def test_the_map_is_one_stop_of_tab_and_arrows_move_in_it(page: Page) -> None:
    page.locator("#grid .fold").first.focus()
    page.keyboard.press("Tab")
    expect_focused(page, "gpu-0: used by ml/trainer-4")
    for key, expected in (
        ("ArrowRight", "gpu-1: used by ml/trainer-4"),
        ("ArrowDown", "gpu-1: used by ml/trainer-7"),
        ("End", "gpu-7: free"),
        ("ArrowRight", "gpu-0: unusable"),
        ("ArrowLeft", "gpu-7: free"),
        ("Home", "gpu-0: used by ml/trainer-7"),
        ("ArrowUp", "gpu-0: used by ml/trainer-4"),
        ("PageDown", "gpu-0: used by ml/trainer-8"),
        ("PageUp", "gpu-0: used by ml/trainer-4"),
    ):
        page.keyboard.press(key)
        expect_focused(page, expected)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.dot')") is False


def test_the_states_are_one_stop_of_tab_and_arrows_move_in_them(page: Page) -> None:
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Tab")
    for key, state in (("", "free"), ("ArrowRight", "used"), ("ArrowLeft", "free")):
        if key:
            page.keyboard.press(key)
        expect(page.locator("*:focus")).to_have_attribute("value", state)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("*:focus")).to_have_attribute("value", "lost")
    page.keyboard.press("Space")
    expect(page.locator("[value=lost]")).not_to_be_checked()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('[name=state]')") is False


def test_the_keyboard_opens_and_closes_a_device(page: Page) -> None:
    page.get_by_role("gridcell", name="gpu-4: used by web/render-0").focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="Device", exact=True)
    expect(panel).to_contain_text("gpu.example.com/node-0000/gpu-4")
    expect(panel).to_contain_text("web/render-0, since 60m")
    expect(panel).to_contain_text("GPU-0000-4")
    page.keyboard.press("Escape")
    expect(panel).to_contain_text("Choose a device")


def test_hidden_devices_cannot_be_reached(page: Page) -> None:
    page.locator("[name=state][value=used]").uncheck()
    page.locator("#grid .fold").first.focus()
    page.keyboard.press("Tab")
    expect_focused(page, "gpu-5: free")
    page.keyboard.press("ArrowLeft")
    expect_focused(page, "gpu-5: free")


def test_explanations_open_by_keyboard(page: Page) -> None:
    expect(page.locator("#waiting details").first).to_have_attribute("open", "")
    page.locator("#waiting summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#waiting details").first).to_contain_text("fits on none of the 10 nodes")
    expect(page.locator("#waiting details").first).to_contain_text("NODES")


def test_screen_readers_find_names_and_roles(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text("Devices cluster.jsonl")
    expect(page.get_by_role("grid", name="In use: devices by node")).to_be_visible()
    expect(page.get_by_role("row", name="node-0003")).to_be_visible()
    expect(page.get_by_role("rowheader", name="node-0003 3/8")).to_be_visible()
    expect(page.get_by_role("status").first).to_have_text("Snapshot")
    expect(page.get_by_role("search", name="Devices")).to_be_visible()
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, select, input, summary, [tabindex]")]
        .filter((one) => !(one.labels?.length || one.getAttribute("aria-label")
          || one.textContent.trim()))
        .map((one) => one.outerHTML)"""
    )
    assert unnamed == []


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const ratio = (a, b) => { const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const ground = (one) => { for (; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor;
    if (rgb(color)[3] > 0) return color; } return "white"; };
  const poor = [];
  for (const one of document.querySelectorAll("body *")) {
    const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!text || !one.checkVisibility() || one.matches("script, style, option, .unseen")) continue;
    const found = ratio(getComputedStyle(one).color, ground(one));
    if (found < 4.5) poor.push([one.outerHTML.slice(0, 80), found]);
  }
  for (const dot of document.querySelectorAll("#legend .dot")) {
    const style = getComputedStyle(dot), around = ground(dot.parentElement);
    const filled = rgb(style.backgroundColor)[3] > 0;
    const found = ratio(filled ? style.backgroundColor : style.borderTopColor, around);
    if (found < 3) poor.push([dot.className, found]);
    const sign = ratio(style.color, filled ? style.backgroundColor : around);
    const signed = getComputedStyle(dot, "::after").content !== "none";
    if (signed && sign < 4.5) poor.push([dot.className + " sign", sign]);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_contrast_and_width(small: str, windows: Windows, scheme: str, size: Any) -> None:
    page = windows(size, color_scheme=scheme).page
    page.goto(small)
    page.locator("#grid .dot.used").first.click()
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_devices_on_a_phone_are_large_enough_to_touch(small: str, windows: Windows) -> None:
    page = windows(PHONE).page
    page.goto(small)
    box = page.locator("#grid .dot").first.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24


def test_the_theme_can_be_chosen(page: Page) -> None:
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme: system").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_the_map_is_there_without_scripts(small: str, windows: Windows) -> None:
    page = windows(java_script_enabled=False).page
    page.goto(small)
    expect(page.locator("#grid .dot")).to_have_count(81)
    expect(page.get_by_role("heading", name="Pods waiting for devices")).to_be_visible()


def test_hostile_names_are_text(tmp_path: Path, windows: Windows) -> None:
    address = written(tmp_path, *hostile.manifests())
    page = windows().page
    page.goto(address)
    page.locator("#grid .dot").first.click()
    expect(page.locator("#device")).to_contain_text(hostile.TAG)
    expect(page.locator("#grid")).to_contain_text(hostile.TAG)
    assert page.locator("img").count() == 0
    assert page.title() == "cluster.jsonl: devices"
    assert "\u202e" not in page.locator("body").inner_text()


@pytest.mark.slow
def test_a_thousand_nodes(large: str, windows: Windows) -> None:
    page = windows().page
    page.goto(large)
    expect_shown(page, "8001 of 8001 devices on 1001 of 1001 nodes")
    attention = page.locator(".group[data-group=attention]")
    expect(attention.locator(".node:visible")).to_have_count(60)
    # Rows that come into view move what is below them: the keyboard needs no place.
    attention.get_by_role("button", name="Show 60 more").press("Enter")
    expect(attention.locator(".node:visible")).to_have_count(120)
    page.locator("#node").fill("node-099")
    expect_shown(page, "80 of 8001 devices on 10 of 1001 nodes")
    page.get_by_role("gridcell", name="gpu-0: used by ml/trainer-994").focus()
    page.keyboard.press("PageDown")
    expect_focused(page, "gpu-0: used by ml/trainer-998")


def healthy(nodes: int) -> list[Any]:
    """Return nodes without problems, half of them in use."""
    found: list[Any] = [device_class()]
    for number in range(1, nodes + 1):
        name = f"node-{number}"
        found += [objects.node(name), pool(name, 8)]
        if number % 2:
            user = pod(f"user-{number}", claims={"gpu": f"user-{number}"}, node=name)
            where = [(name, f"device-{index}") for index in range(8)]
            found += [user, held(claim(f"user-{number}", count=8), *where, pods=[user])]
    return found


def test_a_thousand_healthy_nodes_take_three_screens(tmp_path: Path, windows: Windows) -> None:
    page = windows((1440, 900)).page
    page.goto(written(tmp_path, *healthy(1000)))
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 900
    names = page.locator(".group[data-group=used] .node:visible b").all_inner_texts()
    assert names[:6] == ["node-1", "node-3", "node-5", "node-7", "node-9", "node-11"]
    free = page.locator(".group[data-group=free]")
    expect(free.locator(".node:visible")).to_have_count(0)
    free.get_by_role("button", name="All devices free").click()
    expect(free.locator(".node:visible")).to_have_count(100)


def test_problems_come_first_and_say_why(page: Page) -> None:
    expect(page.locator("main h2:visible").first).to_contain_text("Problems")
    expect(page.locator("#problems")).to_contain_text("gpu.example.com/node-0009")
    expect(page.locator("#problems .remedy").first).to_be_visible()
    # No node has nine devices; what the missing slice of this one has is unknown.
    expect(page.locator("#waiting .line").first).to_have_text(
        "node-0009: pool gpu.example.com/node-0009 is incomplete: 1 of 2 slices, 60m"
    )
    expect(page.locator("#live")).to_have_text("Snapshot")
    expect(page.locator("#age")).to_have_text(re.compile(r", \d+ (hour|day)s? old"))


@pytest.mark.parametrize("width", [390, 1024, 1280, 1440])
def test_no_column_is_cut(small: str, windows: Windows, width: int) -> None:
    page = windows((width, 900)).page
    page.goto(small)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    cut = """[...document.querySelectorAll(".scroll")]
        .filter((one) => one.scrollWidth > one.clientWidth + 1).length"""
    assert page.evaluate(cut) == 0


def test_problems_scroll_with_the_page_on_a_phone(tmp_path: Path, windows: Windows) -> None:
    broken = [pool(f"node-{n}", ["a"], resourceSliceCount=2, generation=2) for n in range(9)]
    stale = [pool(f"node-{n}", ["a"], part=1, generation=1) for n in range(9)]
    lost = [held(claim(f"c-{n}"), (f"gone-{n}", "a")) for n in range(9)]
    page = windows(PHONE).page
    page.goto(written(tmp_path, device_class(), *broken, *stale, *lost))
    box = page.locator(".problems")
    assert box.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1
    assert box.evaluate("(one) => one.clientHeight") > 600


def test_pods_that_wait_scroll_with_the_page_on_a_phone(tmp_path: Path, windows: Windows) -> None:
    names = [f"waits-{number:02}" for number in range(30)]
    pods = [pod(name, "web", claims={"gpu": name}) for name in names]
    claims = [claim(name, "web") for name in names]
    page = windows(PHONE).page
    page.goto(written(tmp_path, device_class(), *pods, *claims))
    box = page.locator(".pods")
    assert box.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1
    expect(page.locator("#waiting summary:visible")).to_have_count(10)
    page.get_by_role("button", name="Show all 30 pods").press("Enter")
    expect(page.locator("#waiting summary:visible")).to_have_count(30)
    expect(page.locator("#waiting summary").nth(10)).to_be_focused()
    assert box.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1


def test_a_class_leads_to_its_devices_by_keyboard(page: Page) -> None:
    page.locator("#classes .pick", has_text="other").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#class")).to_have_value("other")
    expect_shown(page, "0 of 81 devices on 0 of 11 nodes")
    expect(page.locator("#map-title")).to_be_focused()


def test_enter_again_goes_into_the_panel_and_escape_comes_back(page: Page) -> None:
    dot = page.get_by_role("gridcell", name="gpu-4: used by web/render-0")
    dot.focus()
    page.keyboard.press("Enter")
    expect(dot).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dot).to_be_focused()


def test_many_lost_devices_of_one_pool_do_not_tear_the_grid(
    tmp_path: Path, windows: Windows
) -> None:
    names = [f"device-{number}" for number in range(126)]
    pools = [pool(f"node-{number}", 8) for number in range(12)]
    lost = [held(claim(name), ("fabric", name)) for name in names]
    page = windows((1440, 900)).page
    page.goto(written(tmp_path, device_class(), *pools, *lost))
    box = page.locator(".node[data-node='(lost) fabric']").bounding_box()
    assert box is not None
    assert box["height"] < 160


def test_the_sheet_of_a_phone_leaves_its_device_visible(small: str, windows: Windows) -> None:
    page = windows(PHONE).page
    page.goto(small)
    dot = page.locator("#grid .dot:visible").last
    dot.click()
    sheet, chosen = page.locator("#panel").bounding_box(), dot.bounding_box()
    assert sheet is not None
    assert chosen is not None
    assert sheet["height"] <= 0.41 * PHONE[1]
    assert chosen["y"] + chosen["height"] <= sheet["y"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_names_of_nodes_are_not_cut_in_dense_lines(large: str, windows: Windows, size: Any) -> None:
    page = windows(size).page
    page.goto(large)
    cut = """[...document.querySelectorAll(".dense .node:not([hidden]) .name b")]
        .filter((one) => one.scrollWidth > one.clientWidth && one.offsetParent
          && !one.textContent.startsWith("(")).map((one) => one.textContent)"""
    assert page.evaluate(cut) == []


def test_a_command_can_be_copied(small: str, windows: Windows) -> None:
    window = windows(permissions=["clipboard-read", "clipboard-write"])
    window.page.goto(small)
    window.page.locator("#waiting .copy").first.click()
    expect(window.page.locator("#waiting .copy").first).to_have_text("Copied")
    found = window.page.evaluate("navigator.clipboard.readText()")
    assert found == "kubectl dra explain pod waits-0 -n web"


def test_an_empty_cluster_says_what_to_do(tmp_path: Path, windows: Windows) -> None:
    page = windows().page
    page.goto(written(tmp_path))
    expect(page.locator("#empty")).to_contain_text("Is a DRA driver installed?")
    expect(page.locator("#empty .copy").first).to_be_visible()
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator("#panel")).to_be_hidden()


AXE = os.environ.get("DRAGOMAN_AXE", "")
RULES = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']})"


@pytest.mark.skipif(not AXE, reason="`make test-axe` names axe-core in DRAGOMAN_AXE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("nodes", [0, 10, 1000])
def test_axe_finds_no_violations(
    tmp_path: Path, windows: Windows, scheme: str, width: int, nodes: int
) -> None:
    page = windows((width, 900), color_scheme=scheme, bypass_csp=True).page
    page.goto(written(tmp_path, *(cluster(nodes) if nodes else [])))
    if nodes:
        page.locator("#grid .dot:visible").first.click()
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate(f"{RULES}.then((one) => one.violations)")
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
