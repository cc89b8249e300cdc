"""Wait until servers answer, and notice at once when they die instead."""

import time

from urllib3.exceptions import HTTPError

from tests.support.controlplane.api import Api, ApiError
from tests.support.controlplane.process import LOOPBACK, ThrowawayProcess, listens


def wait_for_answer(probe: Api, path: str, timeout: float, *processes: ThrowawayProcess) -> None:
    """Ask for a path until the answer is a success.

    Args:
        probe: Client of the server.
        path: What a ready server answers, such as `/readyz`.
        timeout: Seconds until the wait is given up.
        processes: Those that must live meanwhile.

    Raises:
        RuntimeError: A process ended; the message carries the end of its log.
        TimeoutError: They live, but there is no success; the message carries the last answer.
    """
    deadline = time.monotonic() + timeout
    while True:
        for process in processes:
            process.check()
        try:
            probe.request("GET", path, timeout=5)
        except (HTTPError, ApiError) as error:
            if time.monotonic() > deadline:
                names = " and ".join(process.name for process in processes)
                raise TimeoutError(f"{names} not ready after {timeout:g} s: {error}") from error
        else:
            return
        time.sleep(0.05)


def wait_until_listens(
    process: ThrowawayProcess, port: int, timeout: float, address: str = LOOPBACK
) -> None:
    """Wait until the process accepts connections on its port.

    Raises:
        RuntimeError: The process ended; the message carries the end of its log.
        TimeoutError: It lives, but does not listen within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while not listens(port, address):
        process.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{process.name} does not listen after {timeout:g} s")
        time.sleep(0.02)
