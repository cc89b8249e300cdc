"""`--helm` and `--kustomize` with the real programs, on a chart and on overlays."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.corpus.contents import claim, template
from tests.conformance.corpus.layouts import Tree, written
from tests.support.controlplane import binaries

CHECK = (str(Path(sys.executable).with_name("dragoman")), "check")
RIGHT: Tree = {"deviceClassName": "gpu.nvidia.com", "count": 1}
TEMPLATE = """\
{{- if .Values.dra.enabled }}
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: {{ .Release.Name }}-{{ include "engine.suffix" . }}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: {{ .Values.dra.class }}
          allocationMode: {{ .Values.dra.mode }}
          {{- with .Values.dra.count }}
          count: {{ . }}
          {{- end }}
{{- end }}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a folder with helm and kubectl alone, as a PATH."""
    folder = tmp_path_factory.mktemp("bin")
    for name, program in binaries.find(["helm", "kubectl"]).items():
        (folder / name).symlink_to(program)
    return str(folder)


def place(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def chart(folder: Path, dra: Tree, **more: str) -> None:
    """Write a chart with helpers, values, notes, a test, and a chart that it depends on."""
    place(
        folder,
        {
            "Chart.yaml": "apiVersion: v2\nname: engine\nversion: 0.1.0\ntype: application\n",
            "values.yaml": json.dumps({"dra": {"enabled": True, "class": "gpu.nvidia.com", **dra}}),
            "templates/_helpers.tpl": '{{- define "engine.suffix" -}}gpu{{- end -}}\n',
            "templates/claims.yaml": TEMPLATE,
            "templates/NOTES.txt": "Started as {{ .Release.Name }}.\n",
            "charts/side/Chart.yaml": "apiVersion: v2\nname: side\nversion: 0.1.0\n",
            "charts/side/templates/claim.yaml": written(template(RIGHT)),
            **more,
        },
    )


def overlays(folder: Path, patched: Any, **more: str) -> None:
    """Write a base, an overlay with a patch and a prefix, and a component."""
    patch = claim({**RIGHT, "count": patched})  # a list of requests is replaced as a whole
    place(
        folder,
        {
            "base/kustomization.yaml": "resources: [claim.yaml]\n",
            "base/claim.yaml": written(claim(RIGHT)),
            "parts/labels/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n"
            "kind: Component\nresources: [more.yaml]\n",
            "parts/labels/more.yaml": written(template(RIGHT)),
            "overlays/prod/kustomization.yaml": "namePrefix: prod-\nresources: [../../base]\n"
            "components: [../../parts/labels]\npatches:\n- path: more.yaml\n",
            "overlays/prod/more.yaml": written(patch),
            **more,
        },
    )


def run(folder: Path, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path, "HELM_CACHE_HOME": str(folder / ".cache")}
    command = [*CHECK, ".", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_chart_is_checked_as_helm_renders_it(tmp_path: Path, path: str) -> None:
    chart(tmp_path, {"mode": "ExactCount", "count": 2})
    right = run(tmp_path, path, "--helm")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "checked 3 objects" in right.stderr
    assert "unrendered" not in right.stderr
    chart(tmp_path, {"mode": "All", "count": 2})
    assert run(tmp_path, path).returncode == 0
    wrong = run(tmp_path, path, "--helm")
    assert wrong.returncode == 1
    assert "ResourceClaimTemplate release-gpu" in wrong.stdout
    assert "count" in wrong.stdout


def test_what_helm_refuses_is_said_in_its_words(tmp_path: Path, path: str) -> None:
    broken = {"templates/broken.yaml": '{{ required "say dra.node" .Values.dra.node }}\n'}
    chart(tmp_path, {"mode": "All"}, **broken)
    refused = run(tmp_path, path, "--helm")
    assert refused.returncode == 2
    assert "say dra.node" in refused.stdout


def test_an_overlay_is_checked_as_kustomize_builds_it(tmp_path: Path, path: str) -> None:
    overlays(tmp_path, 4)
    right = run(tmp_path, path, "--kustomize")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "kustomize component" in right.stderr
    overlays(tmp_path, -1)
    assert run(tmp_path, path).returncode == 0
    wrong = run(tmp_path, path, "--kustomize")
    assert wrong.returncode == 1
    assert "overlays/prod (kubectl kustomize)" in wrong.stdout
    assert "ResourceClaim default/prod-subject" in wrong.stdout


def test_a_patch_that_drops_the_class_of_a_request_is_found(tmp_path: Path, path: str) -> None:
    overlays(tmp_path, 4)
    patch = claim({"count": 4})
    (tmp_path / "overlays/prod/more.yaml").write_text(written(patch))
    found = run(tmp_path, path, "--kustomize")
    assert found.returncode == 1
    assert "deviceClassName: Required value" in found.stdout


def test_what_kustomize_refuses_is_said_in_its_words(tmp_path: Path, path: str) -> None:
    overlays(tmp_path, 4, **{"base/kustomization.yaml": "resources: [claim.yaml, absent.yaml]\n"})
    refused = run(tmp_path, path, "--kustomize")
    assert refused.returncode == 2
    assert "absent.yaml" in refused.stdout
