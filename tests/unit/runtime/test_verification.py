"""What `dragoman verify` tries: things that the webhook, and only the webhook, refuses."""

import orjson

from dragoman.configs.definition import compile_definition, complaints
from dragoman.configs.parameters import parse
from dragoman.configs.registry import Registry
from dragoman.configs.review import review_schema
from dragoman.runtime import catalogue, verification


def test_the_crd_accepts_the_schema_that_does_not_compile() -> None:
    broken = verification._broken_schema()
    definition = compile_definition(catalogue.definition())
    assert list(complaints(definition, broken)) == []
    verdict = review_schema(Registry(), parse(orjson.dumps(broken)))
    assert not verdict.allowed
