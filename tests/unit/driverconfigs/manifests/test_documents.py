"""Texts that are not manifests are refused with a line, and aliases are bounded."""

from __future__ import annotations

import pytest

from dragoman.driverconfigs.manifests import documents as limits
from dragoman.driverconfigs.manifests.documents import ManifestError
from dragoman.driverconfigs.manifests.review import documents


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a: 1\nb: [\n", 3, id="an open bracket"),
        pytest.param("a: 1\n\tb: 2\n", 2, id="a tab"),
        pytest.param("a: {{ .Values.x }}\n", 1, id="a template of Helm"),
        pytest.param("a: 1\n? [b]\n: 2\n", 2, id="a key that is a list"),
        pytest.param("a: 1\nnull: 2\n", 2, id="a key that is null"),
        pytest.param("a: 1\nb: .inf\n", 2, id="infinity"),
        pytest.param("a: 1\nb: {<<: 1}\n", 2, id="a merge of a scalar"),
        pytest.param("a: &a [*a]\n", 1, id="a list within itself"),
        pytest.param("a: &a {<<: *a}\n", 1, id="a mapping merged into itself"),
        pytest.param("a: " + "[" * 1500 + "]" * 1500, 1, id="1500 levels"),
        pytest.param("a: \0", 1, id="NUL"),
        pytest.param('{"a": 1,\n"b" "c"}', 2, id="JSON without a colon"),
        pytest.param('{"a": ' * 300 + "1" + "}" * 300, 1, id="JSON of 300 levels"),
    ],
)
def test_what_is_neither_yaml_nor_json_says_where(text: str, line: int) -> None:
    with pytest.raises(ManifestError) as caught:
        documents(text)
    assert caught.value.line == line


def test_aliases_cannot_stand_for_billions_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_VALUES", 10_000)
    text = "a0: &a0 [x, x]\n"
    for i in range(1, 40):
        text += f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n"
    with pytest.raises(ManifestError, match="more than 10000 values"):
        documents(text)


def test_yaml_in_flow_style_is_no_bad_json() -> None:
    [document] = documents("{a: 1, b: [x]}")
    assert document.tree == {"a": 1, "b": ["x"]}
