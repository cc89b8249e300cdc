"""`kubectl dra version`: of this program, and of the cluster."""

import sys

import click

from dragoman import __version__
from dragoman_base.versions import beyond
from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.output import Exit, Report, Unusable, show

_EXAMPLES = """\
\b
Examples:
  kubectl dra version
  kubectl dra version --client
  kubectl dra version -o json | jq -r .clientVersion

\b
Exit status:
  0  the versions are printed
  2  the API server does not answer
"""


@click.command(epilog=_EXAMPLES)
@click.option("--client", "alone", is_flag=True, help="Do not ask the API server.")
@connected
@output_option
def version(source: Source, output: Output, *, alone: bool) -> None:
    """Print the versions of this program and of the cluster."""
    server, fault = "", ""
    if not alone:
        try:
            server = source.version()
        except Unusable as error:
            fault = error.message
    lines = [f"Client Version: v{__version__}"]
    lines += [f"Server Version: {server}"] if server else []
    document = {"clientVersion": f"v{__version__}", "serverVersion": server or None}
    status = Exit.UNKNOWN if fault else Exit.CLEAR
    newer = tuple(filter(None, [beyond(server)]))
    show(Report("Version", document, tuple(lines), status, newer), output)
    if fault:
        raise Unusable(fault)
    sys.exit(status)
