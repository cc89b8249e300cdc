"""An operator whose metrics are read."""

import re

import urllib3

from tests.e2e.running import OperatorProcess
from tests.support.controlplane.api import wait_for

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Metered(OperatorProcess):
    """Says in which mode it is, and what it thinks of the other controller."""

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a metric; 0 where it is not there yet."""
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        values = (value for marks, value in self._samples(name) if wanted <= {*marks.split(",")})
        return float(next(values, 0.0))

    def _samples(self, name: str) -> list[tuple[str, str]]:
        """Read all samples of a metric at once: labels, and value."""
        text = urllib3.request("GET", f"http://127.0.0.1:{self.port}/metrics").data.decode()
        return [(marks, value) for found, marks, value in SAMPLE.findall(text) if found == name]

    @property
    def mode(self) -> str:
        """The mode in force."""
        samples = self._samples("dragoman_claims_mode")
        (marks,) = (marks for marks, value in samples if float(value))
        return marks.partition('"')[2].rstrip('"')

    def becomes(self, mode: str, timeout: float = 60) -> None:
        """Wait until a mode is in force."""
        wait_for(lambda: self.mode == mode, timeout, f"mode {mode}", every=0.1)

    def faults_seen(self, fault: str) -> float:
        """Return how often it has reported this fault of the other controller."""
        return self.metric("dragoman_other_controller_faults_total", fault=fault)
