"""What the version that a cluster is upgraded to serves no more."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman_base.versions import NEWEST, NEXT, TARGETS
from dragoman_toolkit.check.check import check

CLASS = """\
apiVersion: resource.k8s.io/{version}
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{}}
"""
REQUEST = """\
apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata: {name: all}
spec: {driver: gpu.example.com}
"""


def found(text: str, *arguments: str) -> list[tuple[str, str, str]]:
    ran = CliRunner().invoke(check, ["-", "-o", "json", *arguments], input=text)
    listed: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]
    return [(one["id"], one["severity"], one["message"]) for one in listed]


def test_the_next_release_is_known_as_a_target_only() -> None:
    assert TARGETS[-1] == NEXT > NEWEST
    ran = CliRunner().invoke(check, ["-", "--kubernetes", "1.39"], input=CLASS)
    assert "1.39 is not known" in ran.output
    ran = CliRunner().invoke(check, ["-", "--target", "1.50"], input=CLASS)
    assert ran.exit_code == 2
    assert "--target: Kubernetes 1.50 is not known; known: 1.34," in ran.output


@pytest.mark.parametrize(
    ("version", "goal", "rule", "severity", "gone"),
    [
        ("v1beta1", "1.38", "dra/api-removed", "error", "1.38 does not serve"),
        ("v1beta1", "1.37", "dra/api-old", "warning", "1.38 will not serve"),
        ("v1beta2", "1.38", "dra/api-old", "warning", "1.39 will not serve"),
    ],
)
def test_a_version_is_gone_or_will_be(
    version: str, goal: str, rule: str, severity: str, gone: str
) -> None:
    [(id_, level, message)] = found(CLASS.format(version=version), "--target", goal)
    assert (id_, level) == (rule, severity)
    assert gone in message


def test_what_the_target_serves_is_in_order() -> None:
    assert found(CLASS.format(version="v1"), "--target", "1.38") == []


def test_a_kind_without_a_newer_version_is_only_announced() -> None:
    told = found(REQUEST, "--target", "1.38")
    assert [one[:2] for one in told if "1.42" in one[2]] == [("dra/api-old", "warning")]


def test_fix_writes_what_the_target_serves(tmp_path: Any) -> None:
    file = tmp_path / "class.yaml"
    file.write_text(CLASS.format(version="v1beta1"))
    CliRunner().invoke(check, [str(file), "--target", "1.38", "--fix"])
    assert "apiVersion: resource.k8s.io/v1\n" in file.read_text()
