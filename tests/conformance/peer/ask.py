"""Ask webhooks: `python -m tests.conformance.peer.ask` runs inside an isolation.

It reads bodies by the webhook's key from standard input, as JSON, and prints words for the answers
in the same order.
"""

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterable, Mapping

from tests.conformance.peer import isolation
from tests.conformance.peer.competitors import ALL, Running, running

PATIENCE = 300.0
"""Seconds for all questions together."""


def ask(questions: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Run each webhook in a network of its own and ask it.

    Args:
        questions: Bodies of requests, by the competitor's key.

    Raises:
        RuntimeError: A webhook could not be run.
    """
    for competitor in ALL:  # outside, since building may need the network
        if competitor.key in questions:
            competitor.program()
    done = subprocess.run(
        isolation.command([sys.executable, "-m", __name__]),
        input=json.dumps({key: list(bodies) for key, bodies in questions.items()}),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    answers: dict[str, list[str]] = json.loads(done.stdout)
    return answers


def word(asked: Running, body: str) -> str:
    """Send one review over a connection of its own and say what came back.

    Returns:
        `allows`, `allows and warns`, `rejects`, `crashes` where the connection ended without an
        answer, or `HTTP` with a status.
    """
    context = ssl.create_default_context(cafile=str(asked.authority))
    connection = http.client.HTTPSConnection("127.0.0.1", asked.port, context=context, timeout=20)
    headers = {"Content-Type": "application/json"}
    try:
        connection.request("POST", asked.competitor.path, body.encode(), headers)
        response = connection.getresponse()
        text = response.read()
    except (http.client.RemoteDisconnected, ssl.SSLError, ConnectionResetError):
        return "crashes"
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        return f"HTTP {response.status}"
    answer = json.loads(text)["response"]
    if not answer["allowed"]:
        return "rejects"
    return "allows and warns" if answer.get("warnings") else "allows"


def main() -> None:
    """Answer from inside."""
    questions = json.load(sys.stdin)
    answers = {}
    for competitor in ALL:
        if competitor.key in questions:
            with running(competitor) as asked:
                answers[competitor.key] = [word(asked, body) for body in questions[competitor.key]]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
