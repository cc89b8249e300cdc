"""Twelve layouts of public repositories; the contents of their files are ours.

Each layout puts objects into files as the named repositories do, with what else such files hold:
placeholders, values of charts, patches, dumps of saved objects.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

Tree = dict[str, Any]
Files = Iterator[tuple[str, str, list[Tree]]]
"""Name of a file, its text, and the objects that a server gets of it; none for other files."""

REPOSITORIES: Mapping[str, tuple[str, ...]] = {
    "examples": (
        "kubernetes-sigs/dra-example-driver",
        "dtrembl/mem-throughput-dra-driver",
        "aojea/kubernetes-network-driver",
        "gke-labs/dravip",
    ),
    "driver-examples": (
        "intel/intel-resource-drivers-for-kubernetes",
        "ROCm/k8s-gpu-dra-driver",
        "petasus-ai/dranet-vfio",
        "Project-HAMi/k8s-dra-driver",
    ),
    "flux-app": (
        "onedr0p/home-ops",
        "drag0n141/home-ops",
        "vrozaksen/home-ops",
        "ishioni/homelab-ops",
    ),
    "flux-component": (
        "bjw-s-labs/home-ops",
        "joryirving/home-ops",
        "aclerici38/home-ops",
        "eleboucher/homelab",
        "deedee-ops/home-ops",
    ),
    "kustomize": ("vfarcic/argocd-production", "yukariin/cluster", "qnimbus/home-lab"),
    "chart": ("llm-d-incubation/llm-d-modelservice", "redhat-cop/poolboy"),
    "rendered": ("kubernetes-sigs/dranet", "kubernetes-sigs/dra-driver-nvidia-gpu"),
    "training": ("kubernetes-sigs/kueue", "kubernetes-sigs/lws"),
    "serving": ("kserve/kserve", "NVIDIA/aicr"),
    "testdata": ("kubernetes-sigs/wg-device-management", "google/dranet", "ngcxy/dranet"),
    "dump": ("tekstacUser/gpu-dra-lab", "DanieleAngeloni/k8s-v1.34.0-VNCC"),
    "documentation": ("kubernetes-sigs/dra-driver-cpu", "nklmilojevic/home"),
}
"""The repositories whose layout each one has."""


def written(*trees: Tree) -> str:
    """Write objects as documents of YAML."""
    return "---\n".join(yaml.safe_dump(one, sort_keys=False) for one in trees)


def _examples(name: str, trees: list[Tree]) -> Files:
    yield f"demo/{name}.yaml", f"# One pod, one device.\n---\n{written(*trees)}", trees


def _driver_examples(name: str, trees: list[Tree]) -> Files:
    for index, one in enumerate(trees):
        kind = one["kind"].lower()
        yield f"deployments/gpu/examples/{name}-{index}-{kind}.yaml", written(one), [one]


def _flux_app(name: str, trees: list[Tree]) -> Files:
    folder = f"kubernetes/apps/media/{name}/app"
    files = [f"{one['kind'].lower()}-{index}.yaml" for index, one in enumerate(trees)]
    yield f"{folder}/kustomization.yaml", written(_kustomization(resources=files)), []
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": name},
        "spec": {"values": {"defaultPodOptions": {"resourceClaims": [{"name": "gpu"}]}}},
    }
    yield f"{folder}/helmrelease.yaml", written(release), []
    for file, one in zip(files, trees, strict=True):
        yield f"{folder}/{file}", f"---\n{written(one)}", [one]


def _flux_component(name: str, trees: list[Tree]) -> Files:
    folder = f"kubernetes/components/{name}"
    files = [f"{one['kind'].lower()}-{index}.yaml" for index, one in enumerate(trees)]
    component = _kustomization("Component", resources=files)
    component["apiVersion"] = "kustomize.config.k8s.io/v1alpha1"
    yield f"{folder}/kustomization.yaml", written(component), []
    for file, one in zip(files, trees, strict=True):
        text = written(one).replace("name: subject", "name: ${APP}-subject")
        yield f"{folder}/{file}", text, [one]


def _kustomization(kind: str = "Kustomization", **fields: Any) -> Tree:
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": kind, **fields}


def _kustomize(name: str, trees: list[Tree]) -> Files:
    files = [f"{one['kind'].lower()}-{index}.yaml" for index, one in enumerate(trees)]
    yield f"{name}/base/kustomization.yaml", written(_kustomization(resources=files)), []
    for file, one in zip(files, trees, strict=True):
        yield f"{name}/base/{file}", written(one), [one]
    first = trees[0]
    patch = {key: first[key] for key in ("apiVersion", "kind", "metadata")}
    patch["spec"] = {"devices": {"requests": [{"name": "gpu", "exactly": {"count": 8}}]}}
    yield f"{name}/overlays/prod/more.yaml", written(patch), []
    overlay = _kustomization(resources=["../../base"], patches=[{"path": "more.yaml"}])
    yield f"{name}/overlays/prod/kustomization.yaml", written(overlay), []


def _chart(name: str, trees: list[Tree]) -> Files:
    chart = {"apiVersion": "v2", "name": name, "version": "0.1.0"}
    yield f"charts/{name}/Chart.yaml", written(chart), []
    values = {
        "replicaCount": 1,
        "decode": {
            "containers": [{"name": "server", "resources": {"claims": [{"name": "gpus"}]}}],
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpus"}],
        },
    }
    yield f"charts/{name}/values.yaml", written(values), []
    text = "{{- if .Values.dra.enabled }}\n" + written(*trees) + "{{- end }}\n"
    yield f"charts/{name}/templates/claims.yaml", text, []
    yield f"charts/{name}/ci/output.yaml", written(*trees), trees


def _rendered(name: str, trees: list[Tree]) -> Files:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}]},
    }
    yield f"install/{name}.yaml", written(service, *trees), trees


def _claimed() -> Tree:
    return {
        "containers": [
            {"name": "main", "image": "train:1", "resources": {"claims": [{"name": "gpu"}]}}
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "of-the-cluster"}],
    }


def _training(name: str, trees: list[Tree]) -> Files:
    workers = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"leaderWorkerTemplate": {"size": 4, "workerTemplate": {"spec": _claimed()}}},
    }
    yield f"docs/examples/{name}/lws.yaml", written(workers), []
    yield f"docs/examples/{name}/claims.yaml", written(*trees), trees


def _serving(name: str, trees: list[Tree]) -> Files:
    spec = _claimed()
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": name},
        "spec": {
            "predictor": {
                "resourceClaims": spec["resourceClaims"],
                "model": {"resources": {"claims": [{"name": "gpu"}]}},
            }
        },
    }
    yield f"docs/samples/llmisvc/{name}/service.yaml", written(service), []
    yield f"docs/samples/llmisvc/{name}/claim-template.yaml", written(*trees), trees


def _testdata(name: str, trees: list[Tree]) -> Files:
    prototype = {
        "apiVersion": "devmgmtproto.k8s.io/v1alpha1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"driver": "example.com/foozer"},
    }
    yield f"testdata/{name}-classes.yaml", written(prototype), []
    yield f"testdata/{name}.json", json.dumps(trees[0], indent=2), [trees[0]]
    if trees[1:]:
        yield f"testdata/{name}-more.yaml", written(*trees[1:]), trees[1:]


def _dump(name: str, trees: list[Tree]) -> Files:
    saved = [json.loads(json.dumps(one)) for one in trees]
    for one in saved:
        uid = "1d5d1c0e-8f52-4b4a-9d41-5a4c4b7a0001"
        one["metadata"] |= {"uid": uid, "creationTimestamp": "2026-03-01T10:00:00Z"}
    listed = {"apiVersion": "v1", "kind": "List", "items": saved}
    yield f"backup/{name}.yaml", written(listed), saved


def _documentation(name: str, trees: list[Tree]) -> Files:
    text = "\n".join(f"# Step {index + 1}\n---\n{written(one)}" for index, one in enumerate(trees))
    yield f"docs/user/{name}.yml", text, trees


LAYOUTS: Mapping[str, Callable[[str, list[Tree]], Files]] = {
    "examples": _examples,
    "driver-examples": _driver_examples,
    "flux-app": _flux_app,
    "flux-component": _flux_component,
    "kustomize": _kustomize,
    "chart": _chart,
    "rendered": _rendered,
    "training": _training,
    "serving": _serving,
    "testdata": _testdata,
    "dump": _dump,
    "documentation": _documentation,
}
