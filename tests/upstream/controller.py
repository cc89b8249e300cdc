"""The claim controller beside which Kubernetes' own end-to-end tests run."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane


def start_controllers(plane: ControlPlane, *left_out: str, own: bool) -> None:
    """Start kube-controller-manager, with its claim controller unless dragoman is the one."""
    flags = [*UNTHROTTLED.flags(), f"--root-ca-file={plane.credentials.keys.authority}"]
    off = (*left_out, CLAIM_CONTROLLER) if own else left_out
    plane.start_controllers("controllers", ["*", *(f"-{one}" for one in off)], flags)


@contextmanager
def dragoman(plane: ControlPlane, *, own: bool) -> Iterator[None]:
    """Run dragoman, where it is the claim controller; print what it should not have said."""
    if not own:
        yield
        return
    with OperatorProcess(plane, plane.user("dragoman", OPERATOR_RULES)) as operator:
        yield
        if faults := operator.faults():
            print("\n".join(faults))
