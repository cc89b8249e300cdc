"""Label selectors, as the API defines them."""

import pytest

from dragoman.model.fields import MalformedObjectError
from dragoman.model.labels import LabelSelector

GPU = {"team": "ml", "gpu": "yes"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param({}, True, id="empty"),
        pytest.param({"matchLabels": {"team": "ml"}}, True, id="label"),
        pytest.param({"matchLabels": {"team": "ml", "gpu": "no"}}, False, id="one label of two"),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "In", "values": ["web", "ml"]}]},
            True,
            id="In",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
            False,
            id="In without the label",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]},
            True,
            id="NotIn without the label",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["ml"]}]},
            False,
            id="NotIn",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}, True, id="Exists"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]},
            False,
            id="DoesNotExist",
        ),
        pytest.param(
            {
                "matchLabels": {"team": "ml"},
                "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}],
            },
            False,
            id="labels and expressions",
        ),
    ],
)
def test_selects(selector: dict[str, object], matches: bool) -> None:
    assert LabelSelector.parse(selector, "spec.namespaceSelector.").matches(GPU) is matches


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"matchLabels": {"team": 1}}, r"spec\.s\.matchLabels\.team: expected a string"),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            r"spec\.s\.matchExpressions\[0\]\.operator: expected one of In, .* found 'Gt'",
        ),
        ({"matchExpressions": [{"operator": "Exists"}]}, r"\[0\]\.key: expected a string"),
    ],
)
def test_names_the_malformed_field(selector: dict[str, object], message: str) -> None:
    with pytest.raises(MalformedObjectError, match=message):
        LabelSelector.parse(selector, "spec.s.")
