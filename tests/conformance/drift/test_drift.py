"""The catalog's schemas list the fields that the drivers' Go types have, and no others."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman_configs import catalog
from tests.conformance.drift import drift

PINS = {pin["schema"]: pin for pin in drift.modules()}
RECORDED: dict[str, dict[str, Any]] = json.loads(drift.RECORDED.read_text())
WITHOUT_TYPES = {
    "fluxbind": "a Python driver",
    "neuron.aws.com": "a closed driver, described by its vendor's documentation",
    "vfio.petasus.io": "its module is in no proxy",
    "mem.example.com": "its module is in no proxy",
    "spyre.ibm.com": "names a kind and declares no type for it",
    "cpu.example.com": "a profile of the example driver, whose package decodes those of others",
    "cpu.dra-example-driver.sigs.k8s.io": "as cpu.example.com",
    "gpu.dra-example-driver.sigs.k8s.io": "shares the types of gpu.example.com",
    "net.dra-example-driver.sigs.k8s.io": "shares the types of net.example.com",
}

GO = """\
package v1

type Mode string

type Embedded struct {
	Name string `json:"name"`
}

type Inner struct {
	Sizes map[string]int64 `json:"sizes,omitempty"`
	Again *Inner           `json:"-"`
}

type Config struct {
	metav1.TypeMeta `json:",inline"`
	Embedded
	Mode    *Mode              `json:"mode,omitempty"`
	Inner   []*Inner           `json:"inner"`
	Limit   *resource.Quantity `json:"limit,omitempty"`
	Raw     runtime.RawExtension
	private bool
}
"""


READ = sorted(RECORDED)
"""Some drivers that take no configuration were read before this comparison was there."""


@pytest.mark.parametrize("schema", READ)
def test_a_schema_agrees_with_the_types_of_its_pinned_module(schema: str) -> None:
    recorded = RECORDED[schema]
    assert recorded["version"] == PINS[schema]["version"], "run make catalog-drift"
    assert list(drift.differences(PINS[schema], recorded)) == []


def test_every_driver_is_pinned_or_has_no_types() -> None:
    every = {one["metadata"]["name"] for one in catalog.schemas()}
    assert every | catalog.releases().keys() == PINS.keys() | WITHOUT_TYPES.keys()


def test_every_driver_with_kinds_was_read() -> None:
    kinds = {name for name, pin in PINS.items() if "types" in pin}
    assert kinds <= RECORDED.keys()
    every = {one["metadata"]["name"]: one["spec"]["configs"] for one in catalog.schemas()}
    none = {name for name, pin in PINS.items() if "without" in pin}
    assert all(not every[name] for name in none)


def test_a_driver_that_begins_to_read_configs_is_named(tmp_path: Path) -> None:
    pin = {"schema": "dra.hygon.com", "version": "v2", "module": "m", "without": ".Opaque"}
    for name, text in {
        "vendor/api.go": "x.Opaque",
        "state_test.go": "x.Opaque",
        "state.go": "package main",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(drift.differences(pin, drift.record(pin, tmp_path))) == []
    (tmp_path / "state.go").write_text("config.Opaque.Parameters")
    assert list(drift.differences(pin, drift.record(pin, tmp_path))) == [
        "dra.hygon.com: state.go reads configs, and the schema says that there are none"
    ]


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("gpu.dra-example-driver.sigs.k8s.io", "gpu"),
        ("net.dra-example-driver.sigs.k8s.io", "net"),
    ],
)
def test_the_renamed_example_driver_keeps_its_kinds(name: str, profile: str) -> None:
    objects = {one["metadata"]["name"]: one for one in catalog.schemas()}
    former = json.dumps(objects[f"{profile}.example.com"]["spec"])
    renamed = former.replace("example.com", "dra-example-driver.sigs.k8s.io")
    assert json.loads(renamed) == objects[name]["spec"]


def test_each_kind_of_difference_is_listed() -> None:
    recorded = copy.deepcopy(RECORDED["sriovnetwork.k8snetworkplumbingwg.io"])
    fields = recorded["types"]["VfConfig"]
    del fields[".vf.trust"]
    fields[".vf.mac"] = "string"
    fields[".vf.vlan"] = "string"
    name = "sriovnetwork.k8snetworkplumbingwg.io VfConfig"
    assert list(drift.differences(PINS["sriovnetwork.k8snetworkplumbingwg.io"], recorded)) == [
        f"{name}: .vf.mac is in the driver's types and not in the schema",
        f"{name}: .vf.trust is in the schema and not in the driver's types",
        f"{name}: .vf.vlan is integer in the schema, string in Go",
    ]


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_fields_are_read_from_source_without_its_dependencies(tmp_path: Path) -> None:
    (tmp_path / "api.go").write_text(GO)
    (tmp_path / "api_test.go").write_text("package v1\n\ntype Config struct{}\n")
    pin = {"module": "example.com/x", "version": "v1", "package": "."}
    found = drift.record({**pin, "types": {"Config": "Config"}}, tmp_path)
    assert found["types"]["Config"] == {
        ".name": "string",
        ".mode": "string",
        ".inner": "array",
        ".inner[]": "object",
        ".inner[].sizes": "map",
        ".inner[].sizes{}": "int64",
        ".limit": "resource.Quantity",
        ".Raw": "runtime.RawExtension",
    }


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_a_type_that_the_module_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "api.go").write_text(GO)
    pin = {"module": "example.com/x", "version": "v1", "package": ".", "types": {"": "Gone"}}
    with pytest.raises(drift.Unavailable, match="no struct type Gone"):
        drift.record(pin, tmp_path)


def test_unavailable_modules_are_listed_and_end_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = tmp_path / "types.json"
    copied.write_text(drift.RECORDED.read_text())

    def refused(module: str) -> Path:
        raise drift.Unavailable(f"{module}: 403 Forbidden")

    monkeypatch.setattr(drift, "RECORDED", copied)
    monkeypatch.setattr(drift, "_download", refused)
    assert drift.main([]) == 2
    said = capsys.readouterr()
    assert said.out == f"{len(RECORDED)} schemas agree with their drivers\n"
    assert f"{len(PINS)} of {len(PINS)} modules are unavailable" in said.err
    assert json.loads(copied.read_text()) == RECORDED
