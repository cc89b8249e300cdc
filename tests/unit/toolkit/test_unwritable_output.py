"""How a command ends where its output goes nowhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = "dragoman top --snapshot examples/toolkit/cluster.jsonl"
CHECK = "dragoman check examples/configs/corrected.yaml -o json"


@pytest.mark.parametrize("command", [TOP, CHECK])
@pytest.mark.parametrize(
    ("output", "status", "said"),
    [
        pytest.param(
            ">/dev/full",
            2,
            "Error: cannot write the output: No space left on device\n",
            id="full disk",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it"),
        ),
        pytest.param(">&-", 0, "", id="closed"),
    ],
)
def test_output_that_cannot_be_written_is_no_answer(
    command: str, output: str, status: int, said: str
) -> None:
    script = f"PATH={Path(sys.executable).parent}:$PATH; {command} {output}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == status
    errors = [one for one in result.stderr.splitlines(keepends=True) if "checked 1" not in one]
    assert "".join(errors) == said


@pytest.mark.parametrize("command", [TOP, CHECK])
def test_a_pipe_that_nobody_reads_ends_a_command_as_it_ends_kubectl(command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    arguments = [str(Path(sys.executable).parent / "dragoman"), *command.split()[1:]]
    result = subprocess.run(
        arguments, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, "")
