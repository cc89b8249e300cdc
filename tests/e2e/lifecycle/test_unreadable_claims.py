"""Objects that strict JSON parsers refuse: the API server stores and serves them to everyone."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from tests.e2e.running import Running
from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json
from tests.support.hostile import Tries

pytestmark = pytest.mark.hostile("forged objects")
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
DEEP = 4_000
PARAMETERS = {
    "half-a-pair": b'{"a":"\\ud800"}',
    "not-utf8": b'{"a":"\xff"}',
    "deep": b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "less-deep": b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
}
Create = Callable[[Json], None]


@pytest.fixture
def create(setup: Setup) -> Iterator[Create]:
    """Create objects whose responses are not read, and delete them in the end."""
    paths = []

    def created(manifest: Json) -> None:
        path = setup.api.home(manifest).path(setup.namespace)
        setup.api.request("POST", path, manifest, accept=METADATA_ONLY)
        paths.append(f"{path}/{manifest['metadata']['name']}")

    yield created
    for path in paths:
        setup.api.request("DELETE", path, accept=METADATA_ONLY)


def configured(spec: Json, parameters: bytes) -> Json:
    """Add an opaque config to the spec of a claim."""
    opaque: dict[str, Any] = {"driver": "d.example.com", "parameters": orjson.Fragment(parameters)}
    spec["devices"]["config"] = [{"opaque": opaque}]
    return spec


def test_unreadable_claims_stop_no_other(
    setup: Setup, create: Create, operator: Running, tries: Tries
) -> None:
    for name, parameters in PARAMETERS.items():
        claim = setup.plane.served(objects.claim(name, setup.namespace, "any"))
        configured(claim["spec"], parameters)
        create(claim)
    setup.apply(setup.template())
    setup.api.create(setup.pod())
    assert setup.published()
    operator.stop()
    operator.start()
    setup.api.create(setup.pod("later"))
    assert setup.published("later")
    tries(len(PARAMETERS))


def test_a_template_is_copied_as_go_reads_it(setup: Setup, create: Create) -> None:
    template = setup.plane.served(setup.template())
    configured(template["spec"]["spec"], PARAMETERS["half-a-pair"])
    create(template)
    setup.api.create(setup.pod())
    (config,) = setup.claim_of("pod")["spec"]["devices"]["config"]
    assert config["opaque"]["parameters"] == {"a": "\N{REPLACEMENT CHARACTER}"}
