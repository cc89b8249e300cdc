"""What `dragoman verify` tries: things that the webhook, and only the webhook, refuses."""

import orjson

from dragoman.cli import verification
from dragoman.controllers.driverconfigschemas import catalogue
from dragoman.driverconfigs.crd import compile_crd, validate_object
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.strictjson import parse
from dragoman.driverconfigs.validation import validate_schema


def test_the_crd_accepts_the_schema_that_does_not_compile() -> None:
    broken = verification._broken_schema()
    definition = compile_crd(catalogue.definition())
    assert list(validate_object(definition, broken)) == []
    verdict = validate_schema(Registry(), parse(orjson.dumps(broken)))
    assert not verdict.allowed
