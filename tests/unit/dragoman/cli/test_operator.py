"""Flags of `dragoman operator`."""

import pytest

from dragoman.cli.operator import operator


@pytest.mark.parametrize("spelling", ["catalog", "catalogue"])
def test_the_former_spelling_of_the_catalog_is_accepted(spelling: str) -> None:
    given = [f"--{spelling}=all", f"--{spelling}-mode=dra.net=Warn"]
    params = operator.make_context("operator", given).params
    assert (params["catalog"], params["catalog_mode"]) == ("all", ("dra.net=Warn",))
