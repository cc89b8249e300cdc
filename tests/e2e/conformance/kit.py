"""The pretended driver, and what the kit needs to know of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.mutants.table import MUTANTS, broken_check

FOLDER = Path(__file__).parent
DEVICES = FOLDER / "devices.yaml"
MANIFESTS = FOLDER / "manifests.yaml"
PLACES = (
    "--node {node} --kubelet-dir {kubelet_dir} --cdi-dir {cdi_dir} --kubeconfig {kubeconfig} "
    "--instance {instance} --http-port {http_port}"
)
SOURCE = f"--from {DEVICES} --schema {FOLDER / 'schema.yaml'}"
COMMAND = f"{{python}} -m tests.support.mutants {SOURCE} {PLACES}"
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
        return () if self.name in {*OF_MANIFESTS, *OF_PROFILES} else (self.name,)

    @property
    def profile(self) -> dict[str, Any]:
        """The profile given to the kit, with the fault."""
        return profile(*self.faults) | ({"oldestKubernetes": "1.33"} if self.old else {})

    @property
    def old(self) -> bool:
        """Whether a release of Kubernetes is promised that the driver does not run on."""
        return self.name in OF_PROFILES or self.name == "no-v1beta1"

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
OF_PROFILES = {"promises-too-much": "V1"}
"""Faults of the profile: the driver does not do what it promises."""
WHOLE = {"needs-old-api", "promises-too-much"}
"""Faults that only a run without `--quick` finds."""


def variants() -> list[Variant]:
    """Return every driver with one fault, in order of the faults."""
    own = [Variant(name, broken_check(name)) for name in MUTANTS]
    others = OF_MANIFESTS | OF_PROFILES
    return [*own, *(Variant(name, check) for name, check in others.items())]


def profile(*faults: str) -> dict[str, Any]:
    """Return the profile of the pretended driver, whose variants have faults too."""
    options = "".join(f" --fault {one}" for one in faults)
    text = (FOLDER / "pretend.yaml").read_text()
    text = text.replace("SOURCE", SOURCE).replace("PLACES", PLACES + options)
    found: dict[str, Any] = yaml.safe_load(text)
    found["oldCommand"] = found["oldCommand"].replace(options, "")  # the fault is a new one
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
