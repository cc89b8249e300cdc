"""Compares dragoman's CEL with Kubernetes' own on generated cases.

    python tests/conformance/fuzz.py 10000            selectors, and a quarter as many rules
    python tests/conformance/fuzz.py 5000 --only rules --seed 7
    python tests/conformance/fuzz.py 12500 --kubernetes 1.38

Rules are those of 1.36, whatever the cluster; other versions are compared for selectors.
Prints every new kind of difference, shrunk, and ends with counts; exit status 1 when there was a
difference that nothing explains.
"""

import argparse
import faulthandler
import json
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random, SystemRandom
from types import FrameType

if __package__ is None:
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.fuzzing.cases import DEFAULT, Answer, SelectorCase, differences
from tests.conformance.fuzzing.deviations import explanation
from tests.conformance.fuzzing.rules import RuleCase
from tests.conformance.oracle import MODULES, Oracle, cel_oracle

Case = SelectorCase | RuleCase

BATCH = 250
PATIENCE = 30.0
SHRINKS = 400
REPORTED_PER_KIND = 3
FEW = 12
MANY = 200
"""Repetitions of one request, to find all answers of an unstable order."""
ANY_ORDER = "Go's order of map entries is random"


class Session:
    """A run over many cases: it queries both sides, shrinks and counts."""

    def __init__(self, seed: int, verbose: int, kubernetes: str = DEFAULT) -> None:
        self.found: list[dict[str, Answer]] = []
        self._random = Random(seed)
        self._kubernetes = kubernetes
        self._oracle = cel_oracle(kubernetes)
        self._verbose = verbose
        self._reported: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()

    def run(self, kind: type[Case], total: int) -> None:
        """Compare so many cases of a kind."""
        started = time.monotonic()
        for done in range(0, total, BATCH):
            count = min(BATCH, total - done)
            cases = [kind.generate(self._random, self._kubernetes) for _ in range(count)]
            for case, theirs in zip(cases, self._answers(cases), strict=False):
                self._compare(case, theirs)
            if done // BATCH % 40 == 39:
                self._progress(kind, done + BATCH, total, started)

    def stop(self) -> None:
        """End the oracle."""
        self._oracle.stop()

    def _answers(self, cases: list[Case]) -> list[Answer]:
        """Query a whole batch first: the requests of shrinking must not come between."""
        answers: list[Answer] = []
        watchdog = Watchdog(self._oracle)
        try:
            for answer in self._oracle.ask_all(case.request() for case in cases):
                watchdog.reset()
                answers.append(answer)
        except RuntimeError:
            # Some requests never end in Kubernetes either; the run skips the rest of the batch.
            self.counts["oracle stuck"] += 1
            stuck = json.dumps(cases[len(answers)].request(), ensure_ascii=False)
            print(f"no answer of Kubernetes within {PATIENCE:.0f} s: {stuck}", flush=True)
            self._oracle = cel_oracle(self._kubernetes)
        finally:
            watchdog.stop()
        return answers

    def _compare(self, case: Case, theirs: Answer) -> None:
        self.counts["cases"] += 1
        self.counts[outcome(theirs)] += 1
        ours = answered(case)
        found = differences(theirs, ours)
        if not found:
            return
        reason = explanation(case, theirs) or self._unstable(case, ours)
        if reason:
            self.explained[reason] += 1
            return
        name = ", ".join(found)
        self.counts["differences"] += 1
        self._reported[name] += 1
        if self._reported[name] <= self._verbose:
            self._report(name, case)

    def _unstable(self, case: Case, ours: Answer) -> str:
        """Query again: Go iterates maps in random order, so some answers are one of several."""
        if "compile_error" in ours:
            return ""
        again = list(self._oracle.ask_all([case.request()] * FEW))
        if len({json.dumps(answer) for answer in again}) > 1:
            again += self._oracle.ask_all([case.request()] * MANY)
        return ANY_ORDER if one_of(again, ours) else ""

    def _report(self, name: str, case: Case) -> None:
        case = self._shrunk(case)
        request, theirs = case.request(), self._oracle.ask(case.request())
        self.found.append({"request": request, "answer": theirs})
        print(f"\n--- {name}\n{json.dumps(request, ensure_ascii=False)}")
        print(f"Kubernetes: {json.dumps(theirs, ensure_ascii=False)}")
        print(f"dragoman:   {json.dumps(answered(case), ensure_ascii=False)}", flush=True)

    def _shrunk(self, case: Case) -> Case:
        asked = 0
        wanted = differences(self._oracle.ask(case.request()), answered(case))
        while asked < SHRINKS:
            for simpler in case.simpler():
                asked += 1
                if asked > SHRINKS:
                    break
                if simpler.size() < case.size() and self._differs(simpler, wanted):
                    case = simpler
                    break
            else:
                break
        return case

    def _differs(self, case: Case, wanted: list[str]) -> bool:
        theirs, ours = self._oracle.ask(case.request()), answered(case)
        found = differences(theirs, ours)
        return bool(found) and found == wanted and not explanation(case, theirs)

    def _progress(self, kind: type[Case], done: int, total: int, started: float) -> None:
        rate = done / (time.monotonic() - started)
        counts = f"{self.counts['differences']} differences"
        print(f"{kind.__name__}: {done} of {total}, {rate:.0f}/s, {counts}", flush=True)


def one_of(answers: list[Answer], ours: Answer) -> bool:
    """Return whether an answer is one of those that Go returns in turn.

    Of many entries not every order comes up, so that a cost may also lie between theirs.
    """
    found = [differences(theirs, ours) for theirs in answers]
    if [] in found:
        return True
    for cost in ("actual_cost", "cost"):
        alike = [theirs for theirs, parts in zip(answers, found, strict=True) if parts == [cost]]
        costs = sorted(theirs.get(cost, 0) for theirs in alike)
        if costs and costs[0] < ours.get(cost, 0) < costs[-1]:
            return True
    return False


class Watchdog:
    """Kills an oracle that does not answer for a while."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._timer = threading.Timer(PATIENCE, oracle.kill)
        self._timer.daemon = True
        self._timer.start()

    def reset(self) -> None:
        """Restart the timer."""
        self.stop()
        self.__init__(self._oracle)  # type: ignore[misc]

    def stop(self) -> None:
        """Stop the timer."""
        self._timer.cancel()


def outcome(answer: Answer) -> str:
    """Name the kind of an answer for the counts."""
    for name in ("panic", "schema_error", "compile_error", "match_error"):
        if name in answer:
            return name.replace("_", " ")
    if "errors" in answer:
        return "violations" if answer["errors"] else "no violations"
    return str(answer.get("match")).lower()


def answered(case: Case) -> Answer:
    """Query dragoman; an unexpected exception counts as a crash, and so does a timeout."""
    signal.setitimer(signal.ITIMER_REAL, 10)
    try:
        return case.ours()
    except Exception as error:  # noqa: BLE001 — any leaked exception is a finding
        return {"crash": repr(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError("no answer within 10 s")


def main() -> int:
    """Run the comparison of the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="compare dragoman's CEL with Kubernetes' own")
    parser.add_argument("cases", type=int, nargs="?", default=10_000, help="number of selectors")
    parser.add_argument("--rules", type=int, help="number of rule cases (a quarter of the above)")
    parser.add_argument("--only", choices=("selectors", "rules"))
    parser.add_argument("--kubernetes", choices=tuple(MODULES), default=DEFAULT)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--show", type=int, default=REPORTED_PER_KIND, help="reports per kind")
    parser.add_argument("--save", type=Path, help="add what was reported to a file of test cases")
    given = parser.parse_args()
    if given.kubernetes != DEFAULT:
        given.only = "selectors"
    rules = given.cases if given.only == "rules" else given.rules
    print(f"Kubernetes {given.kubernetes}, seed {given.seed}", flush=True)
    signal.signal(signal.SIGALRM, _too_slow)
    faulthandler.enable()
    session = Session(given.seed, given.show, given.kubernetes)
    if given.only != "rules":
        session.run(SelectorCase, given.cases)
    if given.only != "selectors":
        session.run(RuleCase, given.cases // 4 if rules is None else rules)
    session.stop()
    if given.save:
        save(given.save, session.found)
    return summary(session.counts, session.explained)


def save(file: Path, found: list[dict[str, Answer]]) -> None:
    """Add cases to a file that `test_found_cases.py` reads."""
    kept = json.loads(file.read_text())["cases"] if file.exists() else []
    known = {json.dumps(case["request"], sort_keys=True) for case in kept}
    kept += [case for case in found if json.dumps(case["request"], sort_keys=True) not in known]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in kept)
    about = "Questions that were once answered wrongly, with the answers of Kubernetes 1.36"
    file.write_text(f'{{"_about": "{about}", "cases": [\n{lines}\n]}}\n')


def summary(counts: Counter[str], explained: Counter[str]) -> int:
    """Print the counts; return the exit status."""
    print()
    for table, mark in ((counts, ""), (explained, "explained: ")):
        for name, count in table.most_common():
            print(f"{count:9}  {mark}{name}")
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
