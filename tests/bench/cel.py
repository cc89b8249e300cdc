"""Measure dragoman_cel beside celpy's two runners and the scheduler's own Go code.

`python -m tests.bench.cel` prints one table and the bars that it must meet. Every figure is the
best of several rounds, and counts processor time, because whatever else the machine does only
ever makes a round slower. The Go columns need the oracle of the conformance tests and are left
out without a Go compiler.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import exp, log
from typing import Any

import celpy
import celpy.celparser
import celpy.evaluation
from celpy import celtypes

from dragoman_cel import selectors
from dragoman_cel.errors import EvaluationError
from tests.bench.celpy_library import FUNCTIONS
from tests.conformance.oracle import OracleUnavailableError, cel_oracle
from tests.support.worlds.expressions import RUNAWAYS, UNDERCHARGED

KUBERNETES = os.environ.get("KUBERNETES", "1.36")
"""Whose code is measured beside ours."""
DRIVER = "dra.example.com"
ATTRIBUTES: dict[str, dict[str, Any]] = {
    **{f"a{number}": {"int": number} for number in range(5)},
    "model": {"string": "NVIDIA-A100-SXM4-80GB"},
    "uuid": {"string": "GPU-18db0e85-99e9-c746-8531-ffeb86328b39"},
    "type": {"string": "gpu"},
    "zone": {"string": "rack-17"},
    "healthy": {"bool": True},
    "shared": {"bool": False},
    "version": {"version": "12.4.0"},
    "index": {"int": 42},
    "links": {"ints": list(range(16))},
}
CAPACITY = {"memory": "80Gi", "cores": "108", "bandwidth": "2Ti"}
DEVICE = {
    "attributes": ATTRIBUTES,
    "capacity": {name: {"value": value} for name, value in CAPACITY.items()},
}

_A = f'device.attributes["{DRIVER}"]'
_C = f'device.capacity["{DRIVER}"]'
_DRIVER = f'device.driver == "{DRIVER}"'
_TEXT = f'{_A}.model == "NVIDIA-A100-SXM4-80GB"'
_REGEX = f'{_A}.model.lowerAscii().matches("^nvidia-a[0-9]+")'
_MEMORY = f'{_C}.memory.isGreaterThan(quantity("40Gi"))'
_VERSION = f'{_A}.version.isGreaterThan(semver("12.0.0"))'
SELECTORS = {
    "S1": _DRIVER,
    "S2": f"{_TEXT} && {_REGEX}",
    "S3": f'{_C}.memory.compareTo(quantity("40Gi")) >= 0',
    "S4": _VERSION,
    "S5": " && ".join(
        (
            _DRIVER,
            _TEXT,
            _MEMORY,
            _VERSION,
            f"{_A}.healthy",
            f"{_A}.index > 10",
            f'{_A}.type == "gpu"',
            f'{_A}.zone != "rack-18"',
            f'{_C}.cores.isGreaterThan(quantity("100"))',
            f"{_A}.a3 == 3",
        )
    ),
    "S6": f"{_A}.links.exists(x, x == 15)",
    "S7": (
        f'"model" in {_A} && "memory" in {_C} && {_A}.model.startsWith("NVIDIA") '
        f'&& {_A}.zone in ["rack-16", "rack-17", "rack-18"]'
    ),
}


def best(call: Callable[[], Any], *, seconds: float = 0.25, rounds: int = 7) -> float:
    """Return the microseconds of one call in the fastest round."""
    times, elapsed = 1, 0.0
    while elapsed < seconds / rounds / 4:
        times *= 2
        elapsed = _round(call, times)
    times = max(1, int(times * seconds / rounds / max(elapsed, 1e-9)))
    return min(_round(call, times) for _ in range(rounds)) / times * 1e6


def _round(call: Callable[[], Any], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - started


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def celpy_device() -> celtypes.MapType:
    """Convert the device to celpy's types, as its users must."""
    attributes = celtypes.MapType()
    for name, box in ATTRIBUTES.items():
        (kind, value), *_ = box.items()
        version = kind == "version"
        converted = FUNCTIONS["semver"](value) if version else celpy.json_to_cel(value)
        attributes[celtypes.StringType(name)] = converted
    capacity = celtypes.MapType(
        {celtypes.StringType(name): FUNCTIONS["quantity"](text) for name, text in CAPACITY.items()}
    )
    domain = celtypes.StringType(DRIVER)
    return celtypes.MapType(
        {
            celtypes.StringType("driver"): domain,
            celtypes.StringType("attributes"): celtypes.MapType({domain: attributes}),
            celtypes.StringType("capacity"): celtypes.MapType({domain: capacity}),
        }
    )


def celpy_times(runner: type[celpy.Runner]) -> dict[str, float]:
    """Return microseconds of each selector with one of celpy's runners."""
    # The process has one parser, with the tree class of the first environment.
    celpy.celparser.CELParser.CEL_PARSER = None
    # The compiled runner looks functions up by module and name among its own globals.
    vars(celpy.evaluation)["tests"] = sys.modules["tests"]
    limit = sys.getrecursionlimit()
    environment = celpy.Environment(runner_class=runner)
    sys.setrecursionlimit(limit)
    found = {}
    for name, text in SELECTORS.items():
        program = environment.program(environment.compile(text), functions=FUNCTIONS)
        activation = {"device": celpy_device()}
        assert program.evaluate(activation), name
        found[name] = best(lambda p=program, a=activation: p.evaluate(a))  # type: ignore[misc]
    return found


def go_times() -> tuple[dict[str, float], dict[str, float]] | None:
    """Return microseconds of DeviceMatches and of compilation, None without the Go program.

    The program reads the clock; its figures are reduced by the share of it that it had to wait.
    """
    request = {
        "op": "bench",
        "selectors": list(SELECTORS.values()),
        "device": {"driver": DRIVER, **DEVICE},
        "features": {"listAttributes": True, "consumableCapacity": True},
        "times": 20_000,
    }
    try:
        cel_oracle(KUBERNETES).stop()
    except OracleUnavailableError as error:
        print(f"no Go column: {error}")
        return None
    used, started = _used_by_children(), time.perf_counter()
    with cel_oracle(KUBERNETES) as oracle:
        answer = oracle.ask(request)
    elapsed = time.perf_counter() - started
    assert "panic" not in answer, answer
    to_micros = min(1.0, (_used_by_children() - used) / elapsed) / 1000
    matches = (each * to_micros for each in answer["match_ns"])
    compilations = (each * to_micros for each in answer["compile_ns"])
    return dict(zip(SELECTORS, matches, strict=True)), dict(
        zip(SELECTORS, compilations, strict=True)
    )


def _used_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compiled(text: str) -> selectors.Selector:
    return selectors.compile(text, kubernetes=KUBERNETES, list_attributes=True)


def compile_time(text: str) -> float:
    """Return microseconds of a compilation that finds nothing in the cache."""
    spaces = iter(range(1, 10_000_000))
    return best(lambda: compiled(text + " " * (next(spaces) % 2000)), seconds=0.5)


def fleet() -> float:
    """Return milliseconds of three selectors over 10,000 prepared devices."""
    programs = [compiled(SELECTORS[name]) for name in ("S1", "S3", "S4")]
    devices = [programs[0].prepare(DEVICE, driver=DRIVER) for _ in range(10_000)]

    def run() -> int:
        return sum(program.matches(one) for one in devices for program in programs)

    assert run() == 30_000
    return min(_round(run, 1) for _ in range(7)) * 1e3


def longest_hostile() -> tuple[str, float]:
    """Return the hostile expression that runs longest until it is stopped, and its milliseconds."""
    found = {}
    for name, text in (RUNAWAYS | UNDERCHARGED).items():
        selector = compiled(text)
        device = selector.prepare(DEVICE, driver=DRIVER)

        def run(selector: selectors.Selector = selector, device: Any = device) -> None:
            with suppress(EvaluationError):
                selector.matches(device)

        found[name] = _round(run, 1) * 1e3
    return max(found.items(), key=lambda item: item[1])


_IMPORT = """
import json, time
started = time.process_time()
import dragoman_cel as cel
print(json.dumps((time.process_time() - started) * 1e3))
"""


def import_time() -> float:
    """Return milliseconds of the import in a fresh interpreter, with modules compiled before."""
    command = [sys.executable, "-c", _IMPORT]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder
        runs = [
            subprocess.run(command, env=environment, check=True, capture_output=True)
            for _ in range(9)
        ]
    return min(float(json.loads(run.stdout)) for run in runs)


def main() -> None:
    """Measure everything and print it."""
    ready, whole, compiling = {}, {}, {}
    for name, text in SELECTORS.items():
        selector = compiled(text)
        prepared = selector.prepare(DEVICE, driver=DRIVER)
        assert selector.matches(prepared), name
        ready[name] = best(lambda s=selector, p=prepared: s.matches(p))  # type: ignore[misc]
        whole[name] = best(lambda s=selector: s.matches(DEVICE, driver=DRIVER))  # type: ignore[misc]
        compiling[name] = compile_time(text)
    again = best(lambda: compiled(SELECTORS["S5"]))
    interpreted = celpy_times(celpy.InterpretedRunner)
    transpiled = celpy_times(celpy.CompiledRunner)
    go = go_times()
    columns = {
        "celpy interpreted": interpreted,
        "celpy compiled": transpiled,
        **({"Go DeviceMatches": go[0]} if go else {}),
        "dragoman prepared": ready,
        "dragoman with conversion": whole,
        **({"Go compile": go[1]} if go else {}),
        "dragoman compile": compiling,
    }
    _print_table(columns)
    _print_bars(columns, again)


def _print_table(columns: dict[str, dict[str, float]]) -> None:
    print("microseconds of processor time a call, best of 7 rounds")
    print(" " * 26 + "".join(f"{name:>9}" for name in SELECTORS) + "     mean")
    for title, column in columns.items():
        figures = "".join(f"{column[name]:9.2f}" for name in SELECTORS)
        print(f"{title:<26}{figures}{geometric_mean(column.values()):9.2f}")


def _ratio(slow: dict[str, float], fast: dict[str, float]) -> float:
    return geometric_mean(slow[name] / fast[name] for name in SELECTORS)


def _print_bars(columns: dict[str, dict[str, float]], again: float) -> None:
    interpreted, go = columns["celpy interpreted"], columns.get("Go DeviceMatches")
    ready, whole = columns["dragoman prepared"], columns["dragoman with conversion"]
    compiling = columns["dragoman compile"]
    bars = [
        ("prepared, times celpy interpreted", _ratio(interpreted, ready), ">=", 200.0),
        ("with conversion, times celpy interpreted", _ratio(interpreted, whole), ">=", 40.0),
    ]
    if go is not None:
        bars.append(("with conversion, times Go's DeviceMatches", _ratio(go, whole), ">=", 0.5))
        bars.append(("(prepared, times Go's DeviceMatches)", _ratio(go, ready), ">=", 0.0))
    bars += [
        ("compilation of S5, ms", compiling["S5"] / 1000, "<=", 3.0),
        ("compilation of S1, ms", compiling["S1"] / 1000, "<=", 0.3),
        ("second compilation of the same text, us", again, "<=", 2.0),
        ("10,000 devices x 3 selectors, ms", fleet(), "<=", 60.0),
        ("import of dragoman_cel, ms", import_time(), "<=", 150.0),
    ]
    name, longest = longest_hostile()
    bars.append((f"longest of the hostile expressions, {name}, ms", longest, "<=", 1000.0))
    for title, value, sign, bar in bars:
        met = value >= bar if sign == ">=" else value <= bar
        print(f"{'met   ' if met else 'MISSED'} {title}: {value:.2f} (must be {sign} {bar:g})")


if __name__ == "__main__":
    main()
