"""Compare answers to device selectors of a release: the recorded expressions, and random ones."""

import json
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from dragoman_base import versions
from dragoman_base.versions import Version
from tests.conformance import cel_columns
from tests.conformance.cel import LEFT_OUT
from tests.conformance.fuzz import BATCH, FEW, MANY, answered, one_of
from tests.conformance.fuzzing.cases import SelectorCase, answer_selector, differences
from tests.conformance.fuzzing.deviations import explanation
from tests.conformance.oracle import Oracle
from tests.newest import causes
from tests.newest.published import announce
from tests.newest.report import Found, grouped

Json = dict[str, Any]


def vectors(oracle: Oracle, known: Version) -> Found:
    """Compare the answers to every recorded selector, in environments with and without lists.

    Raises:
        RuntimeError: They are absent.
    """
    if not cel_columns.VECTORS.exists():
        raise RuntimeError("the recorded selectors are absent")
    asked = [
        {
            "op": "dra",
            "expression": text,
            "device": cel_columns.device_of(row),
            "features": {"consumableCapacity": True, "listAttributes": lists},
            "kubernetes": versions.name(known),
        }
        for name in cel_columns.FILES
        for key, text, row in cel_columns.rows(name)
        if key not in _left_out()
        for lists in (False, True)
    ]
    found = []
    answers = list(oracle.ask_all(asked))  # before anything is asked again
    for request, theirs in zip(asked, answers, strict=True):
        ours = _ours(request)
        if differences(theirs, ours) and not _unstable(oracle, request, ours):
            found.append(_told(request, theirs, ours))
    told = f"{len(asked)} answers to recorded selectors, by the rules of {versions.name(known)}"
    return Found("recorded selectors", told, grouped(found))


@cache
def _left_out() -> frozenset[str]:
    """Return the names of selectors that are answered otherwise on purpose."""
    found = (re.match(r"(.*)/1\.\d+/", one["case"]) for one in json.loads(LEFT_OUT.read_text()))
    return frozenset(match[1] for match in found if match)


def random(oracle: Oracle, known: Version, cases: int, seed: int) -> Found:
    """Compare the answers to random selectors."""
    chance = Random(seed)
    found: list[tuple[str, str]] = []
    for start in range(0, cases, BATCH):
        count = min(BATCH, cases - start)
        asked = [SelectorCase.generate(chance, versions.name(known)) for _ in range(count)]
        answers = list(oracle.ask_all(case.request() for case in asked))
        for case, theirs in zip(asked, answers, strict=True):
            found += [*_of_case(oracle, case, theirs)]
        announce(f"{start + count} of {cases} selectors")
    told = f"{cases} random selectors, seed {seed}, by the rules of {versions.name(known)}"
    return Found("random selectors", told, grouped(found))


def _of_case(oracle: Oracle, case: SelectorCase, theirs: Json) -> Iterator[tuple[str, str]]:
    ours = answered(case)
    if not differences(theirs, ours) or explanation(case, theirs):
        return
    if not _unstable(oracle, case.request(), ours):
        yield _told(case.request(), theirs, ours)


def _ours(request: Json) -> Json:
    try:
        return answer_selector(request)
    except Exception as error:  # noqa: BLE001 — the report shows whatever leaks out
        return {"crash": repr(error)}


def _unstable(oracle: Oracle, request: Json, ours: Json) -> bool:
    """Return whether Kubernetes answers in several ways, of which ours is one."""
    if "compile_error" in ours:
        return False
    again = list(oracle.ask_all([request] * FEW))
    if len({json.dumps(answer) for answer in again}) > 1:
        again += oracle.ask_all([request] * MANY)
    return one_of(again, ours)


def _told(request: Json, theirs: Json, ours: Json) -> tuple[str, str]:
    parts = differences(theirs, ours)
    known = {part: (theirs.get(part) or 0) - (ours.get(part) or 0) for part in causes.COSTS}
    example = json.dumps([request["expression"], theirs, ours], ensure_ascii=False)
    return causes.selector(theirs, known, parts), example
