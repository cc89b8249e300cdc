"""Checkouts of real layouts: a chart, Flux repositories, kustomize overlays, and renderings."""

import json
import re
import shlex
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from dragoman_toolkit.check.check import check
from tests.conformance.corpus.contents import claim, template
from tests.conformance.corpus.layouts import LAYOUTS, Tree, written

ROOT = Path(__file__).parents[4]
LAID_OUT = ("chart", "flux-app", "flux-component", "kustomize")
WRONG: Tree = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "Sometimes"}
RIGHT: Tree = {"deviceClassName": "gpu.nvidia.com", "count": 1}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def lay_out(folder: Path, layout: str, body: Tree) -> list[str]:
    names = []
    for name, text, _ in LAYOUTS[layout]("one", [template(body), claim(body)]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        names.append(name)
    return names


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, arguments, catch_exceptions=False)


def hook() -> list[str]:
    [found] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert found["entry"].split()[:2] == ["dragoman", "check"]
    return [found["files"], found["exclude"], *found["entry"].split()[2:]]


@pytest.mark.parametrize("layout", LAID_OUT)
def test_a_right_repository_is_green(checkout: Path, layout: str) -> None:
    lay_out(checkout, layout, RIGHT)
    result = run(".")
    assert result.exit_code == 0, result.output
    assert "error" not in result.stdout
    assert "warning" not in result.stdout
    assert "left" in result.stderr


@pytest.mark.parametrize("layout", LAID_OUT)
def test_the_hook_of_pre_commit_is_given_the_files_one_by_one(checkout: Path, layout: str) -> None:
    files, exclude, *arguments = hook()
    for body, status in ((RIGHT, 0), (WRONG, 1)):
        names = lay_out(checkout, layout, body)
        given = [n for n in names if re.search(files, n) and not re.search(exclude, n)]
        assert any(fnmatchcase(one, "*.yaml") for one in given)
        result = run(*arguments, *given)
        assert result.exit_code == status, result.output


@pytest.mark.parametrize("layout", LAID_OUT)
def test_the_action_annotates_what_is_wrong(checkout: Path, layout: str) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
    command = action["runs"]["steps"][-1]["run"].strip().splitlines()[-1]
    words = shlex.split(command)
    assert words[1:4] == ["check", "-o", "github"]
    lay_out(checkout, layout, WRONG)
    result = run("-o", "github", "--", ".")
    assert result.exit_code == 1
    lines = [one for one in result.stdout.splitlines() if one.startswith("::error")]
    assert lines
    assert all('Unsupported value: "Sometimes"' in one for one in lines)


def test_a_patch_is_no_manifest_also_where_it_is_named_alone(checkout: Path) -> None:
    lay_out(checkout, "kustomize", RIGHT)
    result = run("one/overlays/prod/more.yaml")
    assert result.exit_code == 0
    assert "left 1 kustomize patch alone" in result.stderr
    directive = {**claim({"deviceClassName": ""}), "$patch": "delete"}
    (checkout / "deleted.yaml").write_text(written(directive))
    assert "left 1 kustomize patch alone" in run("deleted.yaml").stderr


def test_values_and_files_of_generators_are_no_manifests(checkout: Path) -> None:
    broken = written(claim({"deviceClassName": ""}))
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "configMapGenerator": [{"name": "a", "files": ["claim.yaml=data.yaml"]}],
        "helmCharts": [{"name": "a", "valuesFile": "values.yaml"}],
    }
    (checkout / "kustomization.yaml").write_text(written(kustomization))
    for name in ("data.yaml", "values.yaml"):
        (checkout / name).write_text(broken)
    result = run("data.yaml", "values.yaml")
    assert result.exit_code == 0
    assert "left 1 file of a kustomization and 1 values file alone" in result.stderr


def test_a_component_that_a_kustomization_names_is_left_alone(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = lay_out(checkout, "flux-component", WRONG)
    assert run(".").exit_code == 1
    app = checkout / "kubernetes/apps/one/kustomization.yaml"
    app.parent.mkdir(parents=True)
    app.write_text("kind: Kustomization\ncomponents: [../../components/one]\n")
    result = run(".")
    assert result.exit_code == 0, result.output
    left = f"left {len(names) - 1} files of kustomize components and 2 of other kinds alone"
    assert left in result.stderr
    monkeypatch.setenv("PATH", str(checkout))
    tool(checkout, "kustomize", written(claim(WRONG)))
    rendered = run(".", "--kustomize")
    assert rendered.exit_code == 1
    assert "kubernetes/apps/one (kustomize build)" in rendered.stdout


FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n"
ARGO = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n"
SET = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  template:\n    spec:\n"
NATIVE = "kind: Kustomization\n"
GPU = "components: [../../components/gpu]"


@pytest.mark.parametrize(
    ("naming", "text", "named", "noun"),
    [
        (
            "apps/one/ks.yaml",
            f"{FLUX}  path: ./apps/one/app\n  components: [../../../components/gpu]\n",
            "components/gpu/claim.yaml",
            "file of a kustomize component",
        ),
        (
            "apps/one.yaml",
            f"{ARGO}  source:\n    path: apps/one\n    kustomize: {{{GPU}}}\n",
            "components/gpu/claim.yaml",
            "file of a kustomize component",
        ),
        (
            "apps/one.yaml",
            f"{ARGO}  sources: [{{helm: {{valueFiles: [$values/env/prod.yaml]}}}}]\n",
            "env/prod.yaml",
            "values file",
        ),
        (
            "apps/all.yaml",
            f"{SET}      source: {{path: charts/one, helm: {{valueFiles: [prod.yaml]}}}}\n",
            "charts/one/prod.yaml",
            "values file",
        ),
        ("helmfile.yaml", "releases: [{values: [env/gpu.yaml]}]\n", "env/gpu.yaml", "values file"),
        ("charts/one/Chart.yaml", "name: one\n", "charts/one/values-prod.yaml", "values file"),
        ("charts/one/Chart.yaml", "name: one\n", "charts/one/ci/gpu-values.yaml", "values file"),
        (
            "kustomization.yaml",
            f"{NATIVE}openapi: {{path: schema.yaml}}\n",
            "schema.yaml",
            "file of a kustomization",
        ),
        (
            "kustomization.yaml",
            f"{NATIVE}crds: [types.yaml]\n",
            "types.yaml",
            "file of a kustomization",
        ),
        (
            "kustomization.yaml",
            f"{NATIVE}helmChartInflationGenerator: [{{values: v.yaml}}]\n",
            "v.yaml",
            "values file",
        ),
    ],
)
def test_files_that_other_tools_read_are_left_alone(
    checkout: Path, naming: str, text: str, named: str, noun: str
) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    texts = {
        "components/gpu/kustomization.yaml": component,
        naming: text,
        "apps/one/app/a.yaml": "",
    }
    for name, content in {**texts, named: written(claim(WRONG))}.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(content)
    result = run(".")
    assert result.exit_code == 0, result.output
    assert f"1 {noun}" in result.stderr
    (checkout / naming).write_text("kind: ConfigMap\n")
    if noun != "values file" or "chart" not in naming:
        assert run(".").exit_code == 1


@pytest.mark.parametrize(
    "patches",
    [
        "patches: [{path: more.yaml}]",
        "patchesStrategicMerge: [more.yaml]",
        "patches: [{target: {kind: ResourceClaim}, patch: '[{path: /a/deviceClassName}]'}]",
        "patches:\n- patch: |-\n    kind: ResourceClaim\n    deviceClassName: gpu\n",
    ],
)
def test_what_a_patch_may_complete_is_left_alone(checkout: Path, patches: str) -> None:
    lacking = claim({"count": 2})
    texts = {
        "base/kustomization.yaml": f"{NATIVE}resources: [claim.yaml]\n",
        "base/claim.yaml": written(lacking),
        "prod/kustomization.yaml": f"{NATIVE}resources: [../base]\n{patches}\n",
    }
    if "more.yaml" in patches:
        texts["prod/more.yaml"] = "kind: ResourceClaim\ndeviceClassName: gpu\n"
    for name, content in texts.items():
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text(content)
    result = run(".")
    assert result.exit_code == 0, result.output
    assert "value that a patch may complete" in result.stderr
    (checkout / "base/claim.yaml").write_text(written(claim({**WRONG, "count": 2})))
    assert run(".").exit_code == 1
    (checkout / "base/claim.yaml").write_text(written(lacking))
    of_counts = patches.replace("deviceClassName", "count")
    (checkout / "prod/kustomization.yaml").write_text(
        f"{NATIVE}resources: [../base]\n{of_counts}\n"
    )
    (checkout / "prod/more.yaml").write_text("kind: ResourceClaim\ncount: 8\n")
    assert "deviceClassName: Required value" in run(".").stdout


def test_what_is_unreadable_and_no_manifest_is_left_alone(checkout: Path) -> None:
    (checkout / ".vscode").mkdir()
    (checkout / ".vscode/settings.json").write_text('{\n  // comment\n  "a": 1,\n}\n')
    (checkout / "kep.yaml").write_text("a:\n- b\nc\n")
    (checkout / "claim.yaml").write_text(written(claim(RIGHT)))
    assert run(".").exit_code == 0
    assert run(".vscode/settings.json").exit_code == 0
    assert run("kep.yaml").exit_code == 2
    (checkout / "claim.yaml").write_text("apiVersion: v1\n- a\n")
    assert run(".").exit_code == 2


@pytest.mark.parametrize("name", ["00-assert.yaml", "e2e/step-04-assert-1.yaml", "1-errors.yaml"])
def test_an_assertion_of_a_test_is_left_alone(checkout: Path, name: str) -> None:
    (checkout / "e2e").mkdir()
    (checkout / name).write_text(written(claim(WRONG)))
    assert "left 1 assertion of a test alone" in run(name).stderr
    for other in ("assertions.yaml", "driver-v2-error-handler.yaml"):
        (checkout / other).write_text(written(claim(WRONG)))
        assert run(other).exit_code == 1


def test_an_anchor_may_be_defined_again(checkout: Path) -> None:
    text = f"first: &gpu 1\nagain: &gpu {{a: 2}}\n---\n{written(claim(WRONG))}"
    text += "labels: [&one a, &one b, *one]\n"
    (checkout / "claim.yaml").write_text(text)
    result = run("claim.yaml")
    assert result.exit_code == 1
    found = json.loads(run("claim.yaml", "-o", "json").stdout)["findings"]
    (wrong,) = [one for one in found if "Sometimes" in one["message"]]
    assert "allocationMode" in text.splitlines()[wrong["line"] - 1]


def test_paths_of_other_tools_may_be_anything(checkout: Path) -> None:
    for path in ("/etc", "..", "a" * 5000, "\\0", "[]", "~"):
        text = f'{FLUX}  path: "{path}"\n  components: ["{path}", 7]\n'
        (checkout / "ks.yaml").write_text(text)
        assert run("ks.yaml").exit_code == 0


def tool(folder: Path, name: str, output: str, status: int = 0) -> None:
    """Put a program on the path that prints a text."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdout.write({output!r})\n"
        f"sys.stderr.write('no such base')\nsys.exit({status})\n"
    )
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("layout", "program", "folder"),
    [
        ("kustomize", "kustomize", "one/overlays/prod"),
        ("kustomize", "kubectl", "one/overlays/prod"),
        ("chart", "helm", "charts/one"),
    ],
)
def test_what_is_rendered_is_checked_where_the_tool_is_there(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, layout: str, program: str, folder: str
) -> None:
    option = "--helm" if layout == "chart" else "--kustomize"
    lay_out(checkout, layout, RIGHT)
    programs = checkout / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    said = run("one" if layout == "kustomize" else "charts")
    assert f"{folder} | dragoman check -" in said.stderr
    without = run("one" if layout == "kustomize" else "charts", option)
    assert "is installed" in without.stderr
    tool(programs, program, written(claim(WRONG)))
    result = run("one" if layout == "kustomize" else "charts", option)
    assert result.exit_code == 1
    assert f"{folder} ({program} " in result.stdout
    assert 'Unsupported value: "Sometimes"' in result.stdout
    assert "unrendered" not in result.stderr
    if layout == "chart":
        monkeypatch.chdir("charts/one")
        assert "unrendered" not in run(".", option).stderr
        monkeypatch.chdir(checkout)
    tool(programs, program, "", 1)
    failed = run("one" if layout == "kustomize" else "charts", option)
    assert failed.exit_code == 2
    assert "no such base" in failed.stdout


def test_what_a_file_and_its_rendering_share_is_found_once(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(checkout, "kustomize", WRONG)
    alone = run("one", "-o", "json")
    programs = checkout / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    tool(programs, "kustomize", written(template(WRONG), claim(WRONG)))
    both = run("one", "--kustomize", "-o", "json")
    assert len(json.loads(both.stdout)["findings"]) == len(json.loads(alone.stdout)["findings"])


def test_fixes_are_safe_by_default_and_counted(checkout: Path) -> None:
    old = claim({"deviceClassName": "gpu.nvidia.com"}, "v1beta1")
    (checkout / "old.yaml").write_text(written(old))
    (checkout / "mode.yaml").write_text(written(claim({**RIGHT, "allocationMode": "ExactCont"})))
    last = run(".").stderr.splitlines()[-1]
    assert last.endswith("fixable: 1 with --fix, 1 more with --unsafe-fixes")
    assert "ExactCount" not in run(".", "--diff").stdout
    assert "+        allocationMode: ExactCount" in run(".", "--diff", "--unsafe-fixes").stdout
    run(".", "--fix")
    assert "ExactCont\n" in (checkout / "mode.yaml").read_text()
    assert "exactly:" in (checkout / "old.yaml").read_text()
    assert run(".", "--fix", "--unsafe-fixes").exit_code == 0
    assert "ExactCount\n" in (checkout / "mode.yaml").read_text()


@pytest.mark.parametrize("style", ["plain", "single", "double", "literal", "folded"])
def test_a_selector_is_rewritten_in_each_style(checkout: Path, style: str) -> None:
    expression = "device.attributes['gpu.nvidia.com'].productname == 'A'"
    form = {
        "plain": expression,
        "single": "'" + expression.replace("'", "''") + "'",
        "double": json.dumps(expression.replace("'", '"')),
        "literal": f"|\n              {expression} ||\n              false",
        "folded": f">-\n              {expression}\n              && true",
    }[style]
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
        "  devices:\n    requests:\n    - name: gpu\n      exactly:\n"
        "        deviceClassName: gpu.nvidia.com\n        selectors:\n        - cel:\n"
        f"            expression: {form}\n"
    )
    (checkout / "claim.yaml").write_text(text)
    result = run("claim.yaml", "--fix", "--unsafe-fixes")
    assert result.exit_code == 0, result.output
    assert (checkout / "claim.yaml").read_text() == text.replace("productname", "productName")


def test_a_limit_that_a_class_serves_is_a_note(checkout: Path) -> None:
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpus"},
        "spec": {
            "extendedResourceName": "nvidia.com/gpu",
            "selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}],
        },
    }
    limits = {"limits": {"nvidia.com/gpu": 1}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", "image": "a:1", "resources": limits}]},
    }
    (checkout / "all.yaml").write_text(written(served, pod))
    result = run("all.yaml")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "note: nvidia.com/gpu in 1 object: DeviceClass gpus serves it" in result.stderr
