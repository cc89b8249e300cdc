"""JSON of the API server that strict parsers refuse is read as Go reads it."""

import json
import time

import orjson
import pytest

from dragoman.kube.decoding import MOST_LEVELS, decode
from dragoman.model.clustertemplate import ClusterTemplate
from dragoman.model.fields import TOO_DEEP, MalformedObjectError
from dragoman.model.template import Template

pytestmark = pytest.mark.hostile("shapes of JSON")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (rb'{"a":"\ud800"}', {"a": "\ufffd"}),
        (rb'{"a":"\udc00\ud800x"}', {"a": "\ufffd\ufffdx"}),
        (rb'{"a":"\ud83d\ude00\ud83d"}', {"a": "\U0001f600\ufffd"}),
        (rb'{"a":"\\ud800 \ud800"}', {"a": "\\ud800 \ufffd"}),
        (rb'{"\ud800":1}', {"\ufffd": 1}),
        (b'{"a":"\xff","b":[1]}', {"a": "\ufffd", "b": [1]}),
    ],
)
def test_what_is_not_unicode_is_replaced(content: bytes, read: object) -> None:
    tree = decode(content)
    assert tree == read
    assert orjson.loads(orjson.dumps(tree)) == read


@pytest.mark.parametrize(
    ("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"]}":', b"}]")]
)
@pytest.mark.parametrize("levels", [255, 1_000, 5_000, 100_000])
def test_deep_values_are_left_out_and_their_neighbours_stay(
    opening: bytes, closing: bytes, levels: int
) -> None:
    content = b'{"before":1,"deep":' + opening * levels + b"1" + closing * levels + b',"after":"["}'
    tree = decode(content)
    assert (tree["before"], tree["after"]) == (1, "[")
    assert orjson.dumps(tree).count(json.dumps(TOO_DEEP, ensure_ascii=False).encode()) == 1


def test_values_of_the_deepest_level_that_is_kept_are_read_whole() -> None:
    nested = b"[" * (MOST_LEVELS - 1) + b'1,"\\ud800"' + b"]" * (MOST_LEVELS - 1)
    tree = decode(b'{"a":' + nested + b"}")["a"]
    while isinstance(tree[0], list):
        (tree,) = tree
    assert tree == [1, "\ufffd"]


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b'{"a":NaN}', b'{"a":"\xff"', b"[" * 300, b"[" * 5_000, b"]" * 300]
)
def test_what_is_not_json_is_refused(content: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        decode(content)


def test_the_largest_parameters_of_a_claim_take_a_bounded_time() -> None:
    deep = b'{"a":' * 2_000 + b"1" + b"}" * 2_000
    content = b'{"configs":[' + b",".join([deep] * 32) + b"]}"
    began = time.process_time()
    assert len(decode(content)["configs"]) == 32
    assert time.process_time() - began < 2


def test_a_template_with_values_that_were_left_out_is_never_copied() -> None:
    nested = decode(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}")
    metadata = {"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    body = {"metadata": metadata, "spec": {"spec": {"devices": nested}}}
    with pytest.raises(MalformedObjectError, match="spec: expected fewer levels"):
        Template.parse(body)
    body["spec"] = {"namespaceSelector": {}, "template": nested}
    with pytest.raises(MalformedObjectError, match=r"spec.template: expected fewer levels"):
        ClusterTemplate.parse(body)
