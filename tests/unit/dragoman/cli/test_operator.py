"""Flags of `dragoman operator`."""

import click
import pytest

from dragoman.cli.operator import GROUPS, operator
from dragoman.cli.options import OTHERS


@pytest.mark.parametrize("spelling", ["catalog", "catalogue"])
def test_the_former_spelling_of_the_catalog_is_accepted(spelling: str) -> None:
    given = [f"--{spelling}=all", f"--{spelling}-mode=dra.net=Warn"]
    params = operator.make_context("operator", given).params
    assert (params["catalog"], params["catalog_mode"]) == ("all", ("dra.net=Warn",))


def test_the_help_lists_each_option_in_one_group() -> None:
    context = click.Context(operator)
    found = dict(operator.grouped(context))
    assert [one.opts for one in found.pop(OTHERS)] == [["--help"]]
    assert list(found) == list(GROUPS)
    names = [one.name for options in found.values() for one in options]
    assert sorted(map(str, names)) == sorted(str(one.name) for one in operator.params)
    printed = operator.get_help(context)
    assert [line for line in printed.splitlines() if line.rstrip(":") in GROUPS] == [
        f"{title}:" for title in GROUPS
    ]
    assert printed.index("Preemption:") < printed.index("--preemption-timeout")
