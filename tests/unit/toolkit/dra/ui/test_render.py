"""The page is one document that needs no other, and names from the cluster stay text."""

import base64
import hashlib
import json
import re

import pytest

from dragoman_toolkit.dra.reports import Exit, Report
from dragoman_toolkit.dra.ui import render
from tests.support.worlds import hostilenames as hostile
from tests.support.worlds import pages
from tests.unit.toolkit.dra.ui.test_page import cluster


def script(html: str, kind: str = "<script>") -> str:
    """Return what stands in the script element that begins so."""
    return html.partition(kind)[2].partition("</script>")[0]


def test_nothing_is_loaded_from_anywhere() -> None:
    html = pages.html(*cluster())
    found = pages.Found(html)
    assert [link["href"] for link in found.all("link")] == ["data:,"]
    assert [one for _, one in found.elements if "src" in one or "action" in one] == []
    assert re.findall(r"https?:|\b//\b|ws:", html) == []
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_this_script_and_style_alone() -> None:
    html = pages.html(*cluster())
    policy = next(
        one["content"] or ""
        for one in pages.Found(html).all("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src 'none'" in policy
    for name, element in (("script", "<script>"), ("style", "<style>")):
        text = html.partition(element)[2].partition(f"</{name}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_a_live_page_may_ask_its_own_server_only() -> None:
    assert "connect-src 'self';" in render.policy(live=True)


def test_no_element_has_a_style_or_a_handler_of_its_own() -> None:
    found = pages.Found(pages.html(*cluster()))
    names = {name for _, attributes in found.elements for name in attributes}
    assert [name for name in names if name == "style" or name.startswith("on")] == []


@pytest.mark.hostile("page: names")
def test_hostile_names_stay_text() -> None:
    html = pages.html(*hostile.manifests())
    found = pages.Found(html)
    assert found.all("img") == []
    assert len(found.all("script")) == 2
    assert hostile.TAG in found.text
    details = json.loads(script(html, '<script type="application/json" id="details">'))
    assert hostile.TAG in json.dumps(details)


@pytest.mark.hostile("page: names")
def test_control_characters_are_spelled_out() -> None:
    html = pages.html(*hostile.manifests())
    visible = html.partition('<script type="application/json"')[0]
    assert "\u202e" not in visible
    assert "\\x202e" in visible


def test_explanations_are_those_of_explain() -> None:
    text = " ".join(pages.Found(pages.html(*hostile.manifests())).text.split())
    assert "fits on none of the 0 nodes" in text


def test_remedies_are_items_of_a_list() -> None:
    blocks = ("It fits:", "* when a ends", "* when b ends", "", "More.")
    found = Report("", {}, blocks, Exit.CLEAR)
    items = "<ul><li>when a ends</li><li>when b ends</li></ul>"
    assert render.report(found).split() == f"<p>It fits:</p>{items} <p>More.</p>".split()


def test_pods_without_an_explanation_name_the_command() -> None:
    found = pages.of(*cluster())
    html = render.sections(found, {}, live=False)["waiting"]
    assert "kubectl dra explain pod waits -n web" in html


def test_a_dot_says_in_words_what_its_colour_means() -> None:
    found = pages.Found(pages.html(*cluster()))
    labels = [one["aria-label"] for one in found.all("span") if one.get("role") == "gridcell"]
    assert labels == [
        "a: used by ml/trainer",
        "b: free",
        "c: tainted, broken:NoSchedule",
        "a: unusable",
        "gone: lost by ml/trainer",
    ]


def test_a_page_that_follows_a_cluster_links_to_objects() -> None:
    found = pages.Found(pages.html(*cluster(), live=True))
    links = [str(one["href"]) for one in found.all("a") if one.get("class") == "raw"]
    assert "object?kind=Pod&namespace=web&name=waits" in links
    assert any(link.startswith("object?kind=ResourceSlice&namespace=&name=") for link in links)
    still = pages.Found(pages.html(*cluster()))
    assert [one for one in still.all("a") if one.get("class") == "raw"] == []


def test_classes_and_namespaces_lead_to_their_devices() -> None:
    found = pages.Found(pages.html(*cluster()))
    picks = [one["data-filter"] for one in found.all("button") if one.get("class") == "pick"]
    assert picks == ["class", "namespace", "namespace"]
