"""What ends the attempt to schedule a pod."""

from dragoman.allocation.codes import Code
from dragoman.model.deviceid import DeviceID


class FatalProblemError(Exception):
    """The pod's attempt ends, on all nodes or on this one; the message is the scheduler's.

    Attributes:
        code: What kind of problem it is.
        claim: What a message calls the claim; see `validation.placeholder`.
        request: `request` or `request/subrequest`, empty where it is not about one.
        device: The device that the search looked at, None where it is not about one.
        of_node: Whether other nodes are tried.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        claim: str = "",
        request: str = "",
        device: DeviceID | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.claim = claim
        self.request = request
        self.device = device
        self.of_node = False
