"""What `dragoman verify` tries: things that the webhook, and only the webhook, refuses."""

import orjson

from dragoman.cli import verification
from dragoman_configs import catalog
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.crd import compile_crd, validate_object
from dragoman_configs.review.validation import validate_schema
from dragoman_configs.strictjson import parse


def test_the_crd_accepts_the_schema_that_does_not_compile() -> None:
    broken = verification._broken_schema()
    definition = compile_crd(catalog.definition())
    assert list(validate_object(definition, broken)) == []
    verdict = validate_schema(Registry(), parse(orjson.dumps(broken)))
    assert not verdict.allowed
