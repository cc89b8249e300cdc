"""The operator counts findings and posts Events about them."""

import urllib3

from tests.e2e.rbac import FINDINGS_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.toolkit.test_doctor import Ward
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.doctor import cases


def test_findings_become_a_metric_and_an_event(plane: ControlPlane) -> None:
    ward = Ward(plane)
    [lost] = [one for one in cases("found") if one.id == "DeviceLost"]
    namespace = lost.about.partition("/")[0]
    ward.admit(namespace, lost.bad)
    user = plane.user("finder", [*OPERATOR_RULES, *FINDINGS_RULES])
    flags = ("--claims=off", "--findings", "--findings-interval=1", "--no-leader-elect")
    try:
        with OperatorProcess(plane, user, *flags) as operator:
            wait_for(lambda: value(operator, "DeviceLost") == 1, 60, "the finding's metric")
            event = wait_for(lambda: event_in(ward, namespace), 30, "the finding's Event")
            assert event["regarding"]["uid"] == ward.claim(namespace)["metadata"]["uid"]
            assert event["note"].endswith(f"kubectl get pod -n {namespace} pod -o yaml")
            plane.clear_namespace(namespace)
            wait_for(lambda: value(operator, "DeviceLost") == 0, 30, "no finding any more")
            assert operator.faults() == []
            assert "Cannot look for findings" not in operator.log.read_text()
    finally:
        ward.discharge(namespace, lost.bad)


def value(operator: OperatorProcess, finding: str) -> float | None:
    """Return the metric of a finding; None while there is none."""
    try:
        page = urllib3.request(
            "GET", f"http://127.0.0.1:{operator.port}/metrics", retries=False, timeout=5
        ).data.decode()
    except urllib3.exceptions.HTTPError:
        return None
    mark = f'dragoman_findings{{finding="{finding}"}} '
    found = [line.removeprefix(mark) for line in page.splitlines() if line.startswith(mark)]
    return float(found[0]) if found else None


def event_in(ward: Ward, namespace: str) -> Json | None:
    """Return the Event about the lost device."""
    events = ward.api.list("events.events.k8s.io", namespace)
    return next((one for one in events if one.get("reason") == "DeviceLost"), None)
