"""What processes have used, as Linux counts it."""

import os
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
MEBIBYTE = 1 << 20


def cpu(pid: int) -> float:
    """Return the seconds of CPU time that a process has used, in user mode and in the kernel."""
    # The second field is the program's name in parentheses and may hold blanks.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> dict[str, float]:
    """Return the MiB that a process holds now (VmRSS) and held at most (VmHWM)."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {
        line[0][:-1]: int(line[1]) * 1024 / MEBIBYTE
        for line in lines
        if line and line[0] in {"VmRSS:", "VmHWM:"}
    }


class Since:
    """CPU time of some processes since it was started; those that end keep their last reading."""

    def __init__(self, **pids: int | None) -> None:
        self._pids = {name: pid for name, pid in pids.items() if pid is not None}
        self._start = dict.fromkeys(self._pids, 0.0)
        self._now = dict(self._start)
        self.read()
        self._start = dict(self._now)

    def read(self) -> dict[str, float]:
        """Return the seconds of each process since the start."""
        for name, pid in self._pids.items():
            with suppress(OSError, IndexError):
                self._now[name] = cpu(pid)
        return {name: self._now[name] - self._start[name] for name in self._pids}
