"""Users' commands in this process, as their output."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from dragoman.cli import cli


@dataclass(frozen=True)
class Answer:
    """What a command printed.

    Attributes:
        status: Exit status.
        output: Standard output.
        errors: Standard error.
    """

    status: int
    output: str
    errors: str

    @property
    def document(self) -> Any:
        """The JSON that was printed."""
        return json.loads(self.output)

    @property
    def documents(self) -> list[Any]:
        """All JSON that was printed, one document after the other."""
        decoder, text, found = json.JSONDecoder(), self.output.strip(), []
        while text:
            document, end = decoder.raw_decode(text)
            found.append(document)
            text = text[end:].lstrip()
        return found


def dra(*arguments: object, expected: Sequence[int] = (0,)) -> Answer:
    """Run `kubectl dra …`; raise AssertionError for an exit status that is not expected."""
    done = CliRunner().invoke(cli, [*map(str, arguments)], prog_name="kubectl dra")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    answer = Answer(done.exit_code, done.stdout, done.stderr)
    assert answer.status in expected, f"exit {answer.status}: {answer.errors}{answer.output}"
    return answer
