"""Faults between here and the API server are said by the option or field that has them."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.kubeconfig import Credentials
from dragoman_toolkit.dra.cluster.connection import explained
from dragoman_toolkit.dra.output import Unusable


def test_an_odd_value_is_not_said_to_be_of_impersonation() -> None:
    with pytest.raises(Unusable) as caught, explained():
        raise ValueError("not a port")
    assert str(caught.value) == "not a port"


def test_the_time_limit_of_a_command_is_no_fault_of_the_connection() -> None:
    with pytest.raises(TimeoutError), explained():
        raise TimeoutError


def test_impersonation_is_named_by_its_option(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k}}],"
        " clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}]}"
    )
    with pytest.raises(Unusable) as caught, explained():
        Credentials(ConnectionOptions(config, acting_uid="7"))
    assert str(caught.value) == "--as-group and --as-uid need --as USER"


ADDED = """
import dataclasses, sys
from dragoman.kube import connectionoptions
from dragoman.kube.connectionoptions import FLAG, ConnectionOptions, Flag

flag = Flag(("--added",), "TEXT", "Added by a test.", "contexts")
made = dataclasses.make_dataclass(
    "Made",
    [("added", str, dataclasses.field(default="", metadata={FLAG: flag}))],
    bases=(ConnectionOptions,),
    frozen=True,
)
connectionoptions.ConnectionOptions = made
connectionoptions.FLAGS["added"] = flag

from dragoman.cli import main
from dragoman_toolkit.dra.cluster import connection

async def shown(options):
    print("called with", options.added, options.server)
    raise ValueError("seen")
    yield

connection.client_of = connection.asynccontextmanager(shown)
sys.argv = ["kubectl-dra", *sys.argv[1:]]
main()
"""


def test_an_option_is_added_in_one_place() -> None:
    """The field alone makes the flag, before and after the command, its help and what is called."""

    def run(*words: str) -> str:
        command = [sys.executable, "-c", ADDED, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    for words in (("--added", "x", "top", "-s", "a:1"), ("top", "--added=x", "-s", "a:1")):
        assert "called with x a:1" in run(*words)
    assert "--added TEXT" in run("options")
