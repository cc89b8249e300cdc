"""The pretended driver, and what the kit needs to know of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dragoman.drivers.pretend.faults import MUTANTS, broken_check

FOLDER = Path(__file__).parent
DEVICES = FOLDER / "devices.yaml"
MANIFESTS = FOLDER / "manifests.yaml"
PLACES = (
    "--node {node} --kubelet-dir {kubelet_dir} --cdi-dir {cdi_dir} --kubeconfig {kubeconfig} "
    "--instance {instance} --http-port {http_port}"
)
COMMAND = f"{{python}} -m dragoman pretend --from {DEVICES} {PLACES}"
POLICY = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


@dataclass(frozen=True)
class Variant:
    """A driver with one fault, of itself or of its manifests.

    Attributes:
        name: Of the fault.
        check: The check that it breaks.
    """

    name: str
    check: str

    @property
    def faults(self) -> tuple[str, ...]:
        """Faults of the driver's command."""
        return () if self.name in OF_MANIFESTS else (self.name,)

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """What is shipped, with the fault."""
        return manifests(self.name if self.name in OF_MANIFESTS else "")


OF_MANIFESTS = {
    "no-policy": "X1",
    "create-policy": "X1",
    "wide-role": "X2",
    "narrow-role": "X3",
    "any-class": "N5",
}
"""Faults of manifests, and the check that each breaks."""


def variants() -> list[Variant]:
    """Return every driver with one fault, in order of the faults."""
    own = [Variant(name, broken_check(name)) for name in MUTANTS]
    return [*own, *(Variant(name, check) for name, check in OF_MANIFESTS.items())]


def profile(*faults: str) -> dict[str, Any]:
    """Return the profile of the pretended driver, whose variants have faults too."""
    options = "".join(f" --fault {one}" for one in faults)
    text = (FOLDER / "pretend.yaml").read_text()
    text = text.replace("SOURCE", str(DEVICES)).replace("PLACES", PLACES + options)
    found: dict[str, Any] = yaml.safe_load(text)
    if not faults or "other-format" in faults:  # there is no older release of it
        found["oldCommand"] = COMMAND
    return found


def command(*faults: str) -> str:
    """Return the command of the driver with faults."""
    return COMMAND + "".join(f" --fault {one}" for one in faults)


def manifests(fault: str = "") -> list[dict[str, Any]]:
    """Return what is shipped, under a name of its own where it has a fault."""
    text = MANIFESTS.read_text()
    if fault:
        text = text.replace("name: pretend", f"name: {fault}").replace(':pretend"', f':{fault}"')
        text = text.replace("namespace: pretend", f"namespace: {fault}")
        text = text.replace("serviceaccount:pretend:", f"serviceaccount:{fault}:")
        text = text.replace("policyName: pretend", f"policyName: {fault}")
    found = [*yaml.safe_load_all(text)]
    return [*_faulty(found, fault)]


def _faulty(found: list[dict[str, Any]], fault: str) -> Iterable[dict[str, Any]]:
    for one in found:
        if fault == "no-policy" and one["kind"] in POLICY:
            continue
        if fault == "create-policy" and one["kind"] == "ValidatingAdmissionPolicy":
            one["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = ["CREATE"]
        if fault == "wide-role" and one["kind"] == "ClusterRole":
            one["rules"].append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]})
        if fault == "narrow-role" and one["kind"] == "ClusterRole":
            one["rules"][0]["verbs"] = ["list"]
        if fault == "any-class" and one["kind"] == "DeviceClass":
            one["spec"]["selectors"][0]["cel"]["expression"] = "true"
        yield one
