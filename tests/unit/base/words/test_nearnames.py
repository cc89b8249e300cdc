"""What is meant by a misspelt name, or by a part of one."""

import pytest

from dragoman_base.words.nearnames import (
    alike,
    did_you_mean,
    elsewhere,
    near,
    near_attribute,
    near_driver,
)

PRODUCTS = ["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA L4", "Lyra-16"]
PUBLISHED = [
    ("gpu.nvidia.com", "productName"),
    ("gpu.nvidia.com", "type"),
    ("mig.example.com", "type"),
    ("resource.kubernetes.io", "pcieRoot"),
]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lyra-16", ("Lyra-16",)),
        ("NVIDIA L40", ("NVIDIA L4",)),
        ("H100", ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3")),
        ("B200", ()),
        ("NVIDIA H200 PCIe", ()),
        ("L4", ("NVIDIA L4",)),
        ("Lyra-16", ()),
    ],
)
def test_values_are_near_by_case_edits_or_as_a_part(name: str, meant: tuple[str, ...]) -> None:
    assert near(name, PRODUCTS) == meant


@pytest.mark.parametrize(
    ("driver", "meant"),
    [
        ("gpu.nvida.com", "gpu.nvidia.com"),
        ("nvidia.com/gpu", "gpu.nvidia.com"),
        ("nvidia.com", "gpu.nvidia.com"),
        ("storage.example.org", None),
    ],
)
def test_a_driver_is_near_also_as_a_resource(driver: str, meant: str | None) -> None:
    assert near_driver(driver, ["gpu.nvidia.com", "dra.net"]) == meant


@pytest.mark.parametrize(
    ("attribute", "meant"),
    [
        (("gpu.nvidia.com", "productname"), ("gpu.nvidia.com", "productName")),
        (("nvidia.com", "productName"), ("gpu.nvidia.com", "productName")),
        (("gpu.nvidia.com", "pcieRoot"), ("resource.kubernetes.io", "pcieRoot")),
        (("resource.kubernetes.io", "pcieroot"), ("resource.kubernetes.io", "pcieRoot")),
        (("nvidia.com", "productname"), ("gpu.nvidia.com", "productName")),
        (("gpu.nvidia.com", "type"), ("", "")),
        (("gpu.nvidia.com", "colour"), ("", "")),
    ],
)
def test_an_attribute_is_domain_and_name(
    attribute: tuple[str, str], meant: tuple[str, str]
) -> None:
    assert near_attribute(*attribute, PUBLISHED) == meant


def test_a_name_may_stand_in_another_namespace() -> None:
    assert elsewhere("ml/pair", ["infra/pair", "ml/single", "ops/pair"]) == ("infra", "ops")


def test_letters_that_are_two_without_case_count_as_two() -> None:
    assert "\u00df\u00df" in alike("ssss", ["\u00df\u00df-1"])


def test_names_that_begin_alike_hide_no_nearer_one() -> None:
    assert did_you_mean("tariner", ["trainer", "tax"]) == "; did you mean trainer?"
