"""Manifests in the style of articles and vendors' pages: no false alarm, and each fault found."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from tests.support.articles import BAD, GOOD, expected


def found(path: Path) -> list[str]:
    # DeviceTaintRules are off by default, also where they are right.
    arguments = [str(path), "-o", "json", "--runtime-config", "resource.k8s.io/v1beta2"]
    result = CliRunner().invoke(check, arguments, catch_exceptions=False)
    document = json.loads(result.stdout)
    assert document["failures"] == []
    return [finding["id"] for finding in document["findings"]]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_article_has_no_finding(path: Path) -> None:
    assert found(path) == []


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_article_is_found_by_its_rule(path: Path) -> None:
    assert expected(path) in found(path)


def test_there_are_enough_articles() -> None:
    assert len(GOOD) >= 40
    assert len(GOOD) + len(BAD) >= 60
