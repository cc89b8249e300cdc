"""Measure verdicts: an ordinary config, and the most expensive schemas that are accepted.

Run it with `python -m tests.bench.webhook.verdicts`; it prints figures and has no bar.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from dragoman_configs import catalog, strictjson
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.parameters_validation import ValidationResult
from dragoman_configs.review.validation import Key, validate_configs
from tests.support.worlds import driverconfigs as builders

Json = dict[str, Any]
ENTRIES = 32
INTS = [1] * 5000
INTEGERS: Json = {"type": "array", "items": {"type": "integer"}}


def seconds(work: Callable[[], object]) -> float:
    """Take the processor time of some work, the best of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def gpu_config(number: int) -> Json:
    limit = {"defaultPinnedDeviceMemoryLimit": f"{number + 1}Mi"}
    mps = {"defaultActiveThreadPercentage": number % 101, **limit}
    kind = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
    return {**kind, "sharing": {"strategy": "MPS", "mpsConfig": mps}}


def nvidia() -> Registry:
    [document] = [d for d in catalog.schemas() if d["metadata"]["name"] == "gpu.nvidia.com"]
    for variable in document["spec"]["variables"]:
        variable["value"] = variable["name"] == "MPSSupport"
    return builders.registry(document)


def ordinary(count: int = 3000) -> Iterator[tuple[str, float]]:
    """Yield microseconds for a review of one GpuConfig."""
    registry = nvidia()
    claims = [
        builders.claim(builders.entry(gpu_config(number), "gpu.nvidia.com", ["gpu"]))
        for number in range(count)
    ]
    assert validate_configs(registry, "ResourceClaim", claims[0]).violations == ()

    def fresh() -> None:
        for claim in claims:
            validate_configs(registry, "ResourceClaim", claim)

    yield "all different, nothing cached", seconds(fresh) / count * 1e6
    body = orjson.dumps(claims[0])
    cache: dict[Key, ValidationResult] = {}

    def cached() -> None:
        for _ in range(count):
            validate_configs(registry, "ResourceClaim", strictjson.parse(body), cache=cache)

    yield "repeated, parsed and cached", seconds(cached) / count * 1e6


def alternatives(keyword: str, words: list[Json], kind: str = "integer") -> Json:
    return {"type": "array", "items": {"type": kind, keyword: words}}


def ruled(schema: Json, *rules: str) -> Json:
    return {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}


def words(letters: str, count: int) -> list[str]:
    """Make different long words of the same letters."""
    return [
        "".join(letters[(n * 7919 >> i) & 3] for i in range(60)) + f"{n:03d}" for n in range(count)
    ]


def hostile() -> Iterator[tuple[str, Json, Any]]:
    """Yield schemas of one field, and a value of nearly 10 KiB for it."""
    bounds = [{"minimum": bound} for bound in range(2, 302)]
    yield "integers, nothing special", INTEGERS, INTS
    yield "alternatives that all fail", alternatives("anyOf", bounds), INTS
    yield "the last alternative fits", alternatives("anyOf", [*bounds, {"minimum": 0}]), INTS
    values = [{"enum": [str(n)]} for n in range(300)]
    yield "enums", alternatives("oneOf", values, "string"), ["a"] * 2500
    patterns = [{"pattern": f"b{n}"} for n in range(300)]
    yield "patterns", alternatives("oneOf", patterns, "string"), ["a"] * 2500
    yield "a slow pattern", {"type": "string", "pattern": "(?:[^a]?){500}b"}, "é" * 5000
    named = [{"format": name} for name in ("hostname", "email", "uri", "cidr", "date-time", "mac")]
    yield "formats", alternatives("oneOf", named, "string"), ["a.b"] * 1400
    names = {word: {"type": "string"} for word in words("abcd", 900)}
    unknown = [{word: 1} for word in words("dcba", 140)]
    unlike = {"type": "array", "items": {"type": "object", "properties": names}}
    yield "names near to none", unlike, unknown
    listed = {"type": "array", "items": {"type": "string", "enum": list(names)}}
    yield "words near to none", listed, words("dcba", 150)
    defaults = {f"p{n}": {"type": "string", "default": "x"} for n in range(500)}
    objects = {"type": "array", "items": {"type": "object", "properties": defaults}}
    yield "defaults", objects, [{}] * 3000
    yield "a rule over a list", ruled(INTEGERS, "self.all(x, x > 0)"), INTS
    quantity = "isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))"
    small = ruled({"type": "string", "maxLength": 20}, *[quantity] * 5)
    yield "quantities in rules", {"type": "array", "items": small}, ["1Mi"] * 1600
    times = {"type": "string", "maxLength": 30}
    late = ruled(times, *["timestamp(self) > timestamp('2020-01-01T00:00:00Z')"] * 20)
    yield "times in rules", {"type": "array", "items": late}, ["2021-01-01T00:00:00Z"] * 430
    true = ruled({"type": "integer"}, *["true"] * 20)
    yield "rules that say nothing", {"type": "array", "items": true}, INTS
    pairs = "self.all(x, self.all(y, x + y > 0))"
    yield "a rule over all pairs", ruled({**INTEGERS, "maxItems": 1000}, pairs), INTS[:1000]
    right = ruled({"type": "integer"}, *(f"self > {n}" for n in range(-20, 0)))
    yield "rules of items", {"type": "array", "items": right}, INTS
    wrong = ruled({"type": "integer"}, *(f"self > {n}" for n in range(20, 40)))
    yield "rules of items that all fail", {"type": "array", "items": wrong}, INTS


def main() -> None:
    """Print the table."""
    print("microseconds for a review of one GpuConfig")
    for name, taken in ordinary():
        print(f"  {name:36} {taken:8.1f}")
    print(f"milliseconds for a review of {ENTRIES} entries of 10 KiB")
    for name, schema, value in hostile():
        registry = builders.registry(builders.schema(builders.config({"v": schema})))
        names = [f"r{index}" for index in range(ENTRIES)]
        entries = [builders.entry({**builders.KIND, "v": value}, requests=[one]) for one in names]
        claim = builders.claim(*entries, requests=names)
        taken = seconds(lambda: validate_configs(registry, "ResourceClaim", claim).message)  # noqa: B023 — called at once
        found = validate_configs(registry, "ResourceClaim", claim).violations
        stopped = sum("too expensive" in violation.error.detail for violation in found)
        print(f"  {name:36} {taken * 1000:8.1f}   {stopped:2} of {ENTRIES} out of steps")


if __name__ == "__main__":
    main()
