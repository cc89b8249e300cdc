"""`--fix`: comments, order, quotes and all other documents stay as they are."""

import pytest

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.fixes import difference, fixed
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices

FLAT = """\
# the first document is none of ours
apiVersion: v1
kind: ConfigMap
metadata:   {name: a}
---
apiVersion: "resource.k8s.io/v1beta1"   # from the vendor's page
kind: ResourceClaim
metadata:
  name: gpu
spec:
  devices:
    requests:
      # the large one
      - name: gpu
        deviceClassName: 'gpu.example.com'  # class
        selectors:
          - cel:
              expression: |-
                device.driver == "gpu.example.com"
        count: 2
"""
NESTED = """\
# the first document is none of ours
apiVersion: v1
kind: ConfigMap
metadata:   {name: a}
---
apiVersion: "resource.k8s.io/v1"   # from the vendor's page
kind: ResourceClaim
metadata:
  name: gpu
spec:
  devices:
    requests:
      # the large one
      - name: gpu
        exactly:
          deviceClassName: 'gpu.example.com'  # class
          selectors:
            - cel:
                expression: |-
                  device.driver == "gpu.example.com"
          count: 2
"""


def mended(text: str) -> str:
    checked = engine.check(
        [engine.read("m.yaml", text)], api_of((1, 36)), KnownDevices(), engine.CheckOptions()
    )
    found = checked.fixable.get("m.yaml", [])
    return fixed(text, ((one.object, one.problem) for one in found)).text


def test_a_flat_request_moves_below_exactly_with_its_comments() -> None:
    assert mended(FLAT) == NESTED


def test_mending_twice_changes_nothing() -> None:
    assert mended(mended(FLAT)) == mended(FLAT)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\nmetadata: {name: a}\n",
            "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\n",
            id="the version alone",
        ),
        pytest.param(
            "kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nmetadata: {name: a}\n"
            "spec: {devices: {requests: [{name: a, deviceClassName: b}]}}\n",
            "kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nmetadata: {name: a}\n"
            "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b}}]}}\n",
            id="flow style",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  resourceClaims:\n"
            "  - name: gpu  # one\n    source:  # two\n      resourceClaimName: b  # three\n",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  resourceClaims:\n"
            "  - name: gpu  # one\n    # two\n    resourceClaimName: b  # three\n",
            id="source of a pod's claim",
        ),
        pytest.param(
            '{"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", "metadata": {}}\n',
            '{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {}}\n',
            id="JSON",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: resource.k8s.io/v1beta2\n"
            "  kind: DeviceClass\n  metadata: {name: a}\n",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: resource.k8s.io/v1\n"
            "  kind: DeviceClass\n  metadata: {name: a}\n",
            id="an item of a list",
        ),
    ],
)
def test_edits(before: str, after: str) -> None:
    assert mended(before) == after


def test_a_difference_names_file_and_lines() -> None:
    text = difference("a.yaml", "a: 1\nb: 2\n", "a: 1\nb: 3\n")
    assert text == "--- a/a.yaml\n+++ b/a.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n"
    assert difference("a.yaml", "a\n", "a\n") == ""
