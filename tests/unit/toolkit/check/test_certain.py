"""`--unsafe-fixes` for names: exactly one can be meant, and with it nothing else is wrong."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from tests.conformance.corpus.contents import claim, pod, template
from tests.conformance.corpus.layouts import Tree, written

PLAIN: Tree = {"deviceClassName": "gpu.nvidia.com"}


def fixed(folder: Path, *trees: Tree) -> tuple[str, str, int]:
    """Return a file before and after all fixes, and the status of the check afterwards."""
    path = folder / "all.yaml"
    path.write_text(written(*trees))
    before = path.read_text()
    arguments = [str(path), "--fix", "--unsafe-fixes"]
    result = CliRunner().invoke(check, arguments, catch_exceptions=False)
    return before, path.read_text(), result.exit_code


def named(name: str, tree: Tree) -> Tree:
    return {**tree, "metadata": {"name": name, "namespace": "default"}}


def using(**entry: str) -> Tree:
    found = pod()
    found["spec"]["resourceClaims"] = [{"name": "gpu", **entry}]
    return found


def device_class(name: str) -> Tree:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}}


def config(parameters: Tree, driver: str = "gpu.nvidia.com") -> Tree:
    return claim(PLAIN, config=[{"opaque": {"driver": driver, "parameters": parameters}}])


def sharing(**parameters: Any) -> Tree:
    given = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
    return given | {"sharing": {"strategy": "TimeSlicing"}} | parameters


@pytest.mark.parametrize(
    ("trees", "wrong", "right"),
    [
        pytest.param(
            [named("training-gpu", claim(PLAIN)), using(resourceClaimName="trainig-gpu")],
            "resourceClaimName: trainig-gpu",
            "resourceClaimName: training-gpu",
            id="claim",
        ),
        pytest.param(
            [named("big-gpu", template(PLAIN)), using(resourceClaimTemplateName="big-gpus")],
            "Name: big-gpus",
            "Name: big-gpu",
            id="template",
        ),
        pytest.param(
            [named("big", template(PLAIN)), using(resourceClaimName="big")],
            "resourceClaimName: big",
            "resourceClaimTemplateName: big",
            id="kind of reference",
        ),
        pytest.param(
            [device_class("fast.example.com"), claim({"deviceClassName": "fast.exmaple.com"})],
            "fast.exmaple.com",
            "fast.example.com",
            id="class",
        ),
        pytest.param(
            [pod(resourceClaims=[{"name": "gpus", "resourceClaimName": "elsewhere"}])],
            "claims:\n      - name: gpu\n",
            "claims:\n      - name: gpus\n",
            id="claim of a container",
        ),
        pytest.param(
            [claim(PLAIN, constraints=[{"requests": ["gpus"], "matchAttribute": "a.example/b"}])],
            "- gpus",
            "- gpu",
            id="request of a constraint",
        ),
        pytest.param(
            [config(sharing(kind="GPUconfig"))], "GPUconfig", "GpuConfig", id="kind of a config"
        ),
        pytest.param(
            [config(sharing(sharing={"stratgy": "TimeSlicing"}))],
            "stratgy",
            "strategy",
            id="field of a config",
        ),
        pytest.param(
            [config(sharing(sharing={"strategy": "TimeSlicng"}))],
            "TimeSlicng",
            "TimeSlicing",
            id="value of a config",
        ),
    ],
)
def test_the_only_name_that_can_be_meant_is_written(
    tmp_path: Path, trees: list[Tree], wrong: str, right: str
) -> None:
    before, after, status = fixed(tmp_path, *trees)
    assert wrong in before
    assert after == before.replace(wrong, right)
    assert status == 0


def test_a_slip_behind_another_one_is_next(tmp_path: Path) -> None:
    slips = config(sharing(kind="GPUConfg", sharing={"strategy": "TimeSlicng"}))
    before, after, status = fixed(tmp_path, slips)
    assert after == before.replace("GPUConfg", "GpuConfig")
    assert status == 1
    _, last, status = fixed(tmp_path, *yaml.safe_load_all(after))
    assert last == after.replace("TimeSlicng", "TimeSlicing")
    assert status == 0


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param(
            [
                named("train-a", claim(PLAIN)),
                named("train-b", claim(PLAIN)),
                using(resourceClaimName="train-c"),
            ],
            id="two are as near",
        ),
        pytest.param(
            [named("gpu-1", claim(PLAIN)), using(resourceClaimName="gpu-2")],
            id="another number is another name",
        ),
        pytest.param(
            [
                {**claim(PLAIN), "metadata": {"name": "large", "namespace": "other"}},
                using(resourceClaimName="larg"),
            ],
            id="it is in another namespace",
        ),
        pytest.param([config(sharing(sharing={"zzz": "TimeSlicing"}))], id="nothing is near"),
    ],
)
def test_what_is_not_certain_stays(tmp_path: Path, trees: list[Tree]) -> None:
    before, after, _ = fixed(tmp_path, *trees)
    assert after == before


def test_a_name_that_would_break_the_object_is_not_written(tmp_path: Path) -> None:
    # The container uses request `small`, which the claim with the nearest name does not have.
    user = using(resourceClaimName="traning")
    user["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu", "request": "small"}]
    before, after, _ = fixed(tmp_path, named("training", claim(PLAIN)), user)
    assert after == before
