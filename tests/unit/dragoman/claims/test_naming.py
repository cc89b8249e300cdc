"""Names of generated claims: the stock controller's, valid, and the same at every try."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.claims.naming import base_name, claim_name
from tests.unit.dragoman.claims.model_server import SUBDOMAIN
from tests.unit.examples import examples

UID = "3f1c2a55-2b7d-4f0e-9a53-6d1f0a3c9b11"
EDGE = string.ascii_lowercase + string.digits

LABELS = st.text(EDGE + "-", max_size=63).map(lambda text: text.strip("-") or "a")
SUBDOMAINS = st.lists(LABELS, min_size=1, max_size=8).map(lambda labels: cut(".".join(labels)))


def cut(name: str) -> str:
    """Return as much of a name as a pod may have."""
    return name[:253].rstrip("-.")


@pytest.mark.parametrize(
    ("owner", "entry", "base"),
    [
        pytest.param("web-0", "gpu", "web-0-gpu-", id="a short base is whole and ends in a hyphen"),
        pytest.param("p" * 27, "e" * 28, f"{'p' * 27}-{'e' * 28}-", id="57 characters are whole"),
        pytest.param(
            "p" * 27,
            "e" * 29,
            f"{'p' * 26}-{'e' * 28}",
            id="58 characters are cut in both parts and lose the last hyphen",
        ),
        pytest.param("p" * 253, "e", f"{'p' * 56}-", id="a one-character entry is cut to nothing"),
        pytest.param("p" * 253, "e" * 63, f"{'p' * 45}-{'e' * 11}", id="the longest names"),
        pytest.param(
            "node-agent-ip-10-0-12-34.us-west-2.compute.internal.abcde",
            "nic",
            "node-agent-ip-10-0-12-34.us-west-2.compute.internal-ni",
            id="a cut right after a dot drops the dot",
        ),
        pytest.param(
            "a", "e" * 63, f"a-{'e' * 54}", id="a one-character pod is not cut to nothing"
        ),
    ],
)
def test_the_base_is_the_stock_controllers_made_valid(owner: str, entry: str, base: str) -> None:
    assert base_name(owner, entry) == base


@settings(max_examples=examples(60), deadline=None)
@given(owner=SUBDOMAINS, entry=LABELS, attempt=st.integers(0, 31))
def test_every_pod_and_entry_give_a_valid_name(owner: str, entry: str, attempt: int) -> None:
    name = claim_name(owner=owner, owner_uid=UID, entry=entry, attempt=attempt)
    assert SUBDOMAIN.fullmatch(name)
    assert len(name) <= 63


@settings(max_examples=examples(30), deadline=None)
@given(owner=SUBDOMAINS, entry=LABELS, uid=st.uuids().map(str))
def test_a_name_begins_with_its_base_and_ends_in_the_stock_alphabet(
    owner: str, entry: str, uid: str
) -> None:
    name = claim_name(owner=owner, owner_uid=uid, entry=entry)
    base = base_name(owner, entry)
    assert name.startswith(base)
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", name[len(base) :])


def test_an_entry_has_the_same_name_in_every_process_and_release() -> None:
    name = claim_name(owner="web-0", owner_uid=UID, entry="gpu")
    assert name == "web-0-gpu-7h4kg"


def test_attempts_give_different_names() -> None:
    names = {
        claim_name(owner="web-0", owner_uid=UID, entry="gpu", attempt=attempt)
        for attempt in range(32)
    }
    assert len(names) == 32


@settings(max_examples=examples(30), deadline=None)
@given(first=st.uuids().map(str), second=st.uuids().map(str))
def test_a_pod_that_comes_again_under_its_name_has_another_claim(first: str, second: str) -> None:
    names = {claim_name(owner="web-0", owner_uid=uid, entry="gpu") for uid in {first, second}}
    assert len(names) == len({first, second})


def test_entries_that_are_cut_to_the_same_base_have_different_names() -> None:
    pod = "p" * 253
    names = {claim_name(owner=pod, owner_uid=UID, entry=entry) for entry in "abc"}
    assert len({name[:57] for name in names}) == 1
    assert len(names) == 3
