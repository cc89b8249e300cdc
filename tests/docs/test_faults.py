"""Tables of faults and gates are those of Kubernetes' own lists."""

import shutil

import pytest

from docs import generate_faults
from dragoman.doctor.faults import FAULTS


@pytest.fixture(autouse=True)
def modules() -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed: the Kubernetes modules cannot be found")
    for release in generate_faults.FEATURES.values():
        if not generate_faults.module(release).is_dir():
            pytest.skip(f"k8s.io/kubernetes@{release} is not in the module cache: make faults")


def test_fixes_are_those_of_the_changelogs() -> None:
    assert generate_faults.FIXES.read_text() == generate_faults.fixes_page(), "run: make faults"


def test_gates_are_those_of_the_lists_of_features() -> None:
    assert generate_faults.GATES.read_text() == generate_faults.gates_page(), "run: make faults"


def test_each_note_is_found() -> None:
    noted = {one.issue for one in FAULTS if one.note}
    found = generate_faults.first_fixed(generate_faults.module(generate_faults.MODULE))
    assert noted == {issue for issue, branches in found.items() if branches}
