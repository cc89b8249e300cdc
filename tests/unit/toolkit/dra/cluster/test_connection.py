"""Faults between here and the API server are said by the option or field that has them."""

from pathlib import Path

import pytest

from dragoman_toolkit.dra.cluster.connection import UserCredentials, explained
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
        UserCredentials(config, uid="7")
    assert str(caught.value) == "--as-group and --as-uid need --as USER"
