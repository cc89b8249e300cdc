"""Problems of the page: the commands in a remedy stand apart from the words around them."""

import pytest

from dragoman_toolkit.dra.ui.problems import typed


@pytest.mark.parametrize(
    ("remedy", "parts"),
    [
        ("see the log of driver x", (("see the log of driver x", False),)),
        ("kubectl dra release ml/a", (("kubectl dra release ml/a", True),)),
        (
            "kubectl dra release ml/a; see why no claim controller does it",
            (
                ("kubectl dra release ml/a", True),
                ("; see why no claim controller does it", False),
            ),
        ),
        (
            "driver pod x is not ready; kubectl logs -n kube-system x",
            (
                ("driver pod x is not ready; ", False),
                ("kubectl logs -n kube-system x", True),
            ),
        ),
        (
            "kubectl dra untaint a/b/c k=v:NoExecute: it ends pods",
            (("kubectl dra untaint a/b/c k=v:NoExecute", True), (": it ends pods", False)),
        ),
        ("", ()),
    ],
)
def test_commands_in_a_remedy(remedy: str, parts: tuple[tuple[str, bool], ...]) -> None:
    assert typed(remedy) == parts
