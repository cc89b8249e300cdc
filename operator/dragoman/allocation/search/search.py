"""The scheduler's search: the first complete solution, depth first, in a fixed order.

A claim asks for devices by requests, a request may list subrequests of which the first that can be
met counts (KEP-4816), and each needs a number of devices, or all that match. The scheduler tries
devices in the order claims, requests, subrequests, pools, slices, devices, and takes the first
combination that meets everything. No combination is better than another: the order alone decides
which devices a pod gets, so the same answer needs the same order, faults of it included.

`Search` is that recursion without recursion, since its depth grows with devices, requests and
claims. A `Call` has the arguments of one call of `allocateOne` (k8s.io/dynamic-resource-allocation,
structured/internal). `_enter` runs a call up to its first call below, and leaves a `Frame` on the
stack, which takes the answer from below:

* `Pick`: one device of a request was picked; NO gives it back and tries the next;
* `Everything`: a request for all devices has one way only; NO gives them back;
* `Alternatives`: subrequests in turn;
* `EndOfClaim`: TOO_MANY says something about one claim, and stops here.

What a pick takes (counters, shares of capacity, constraints, compatibility groups) is in `Attempt`,
which can undo exactly its last pick. Selectors are evaluated before, once for each request and
content of a device: thousands of devices alike cost one evaluation.

The worst case is exponential, for the scheduler as well, which stops at a deadline of time. Here
two counts bound a search, so that the same input gives the same answer on any machine: steps, which
are calls of the scheduler's function, and looks at devices. `timebudget` ends it for users who
wait.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import NamedTuple

from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import LIMIT, Prepared
from dragoman.allocation.search.attempt import Attempt, Taken
from dragoman.allocation.search.view import NodeView
from dragoman.allocation.timebudget import check

LOOKS_PER_STEP = 16
LEAST_LOOKS = 1_000_000
STEPS_PER_CHECK = 64
"""Steps between two looks at the clock, where there is a budget of time."""


def most_looks(budget: int) -> int:
    """Return how many looks at devices a search may take that has a budget of steps.

    A step may look at every device of the node, which the count of steps does not show. The least
    number is more than any search needs in a few steps.
    """
    return LEAST_LOOKS + LOOKS_PER_STEP * max(budget, 0)


class BudgetExceededError(Exception):
    """The search took more steps, or looked at more devices, than it may."""


class SearchAnswer(Enum):
    """What a call of the recursive function returns."""

    YES = "yes"
    NO = "no"
    TOO_MANY = "too many"
    """More devices than a claim can hold: other devices of the same request need no attempt."""


YES, NO, TOO_MANY = SearchAnswer.YES, SearchAnswer.NO, SearchAnswer.TOO_MANY


class Call(NamedTuple):
    """Arguments of the recursive function."""

    claim: int  # Index of the claim
    request: int = 0  # Index of the request in the claim
    alternative: int = 0  # Index of the subrequest, 0 without
    picked: int = 0  # Devices that the request has already
    chosen: bool = False  # Whether the subrequest is settled for this call
    start: int = 0  # Position of the first device to try


class Frame(ABC):
    """A call that waits for the answer of the call below it."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    @abstractmethod
    def resume(self, search: Search, answer: SearchAnswer) -> Call | SearchAnswer:
        """Take NO or TOO_MANY from below; return the next call below or the own answer."""


class EndOfClaim(Frame):
    """The claims after this one are being served."""

    __slots__ = ()

    def resume(self, search: Search, answer: SearchAnswer) -> Call | SearchAnswer:
        """The limit of one claim says nothing about another claim."""
        del search, answer
        return NO


class Alternatives(Frame):
    """A request whose subrequests are tried in turn."""

    __slots__ = ("only_too_many",)

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.only_too_many = True

    def resume(self, search: Search, answer: SearchAnswer) -> Call | SearchAnswer:
        """Try the next subrequest."""
        call = self.call
        self.only_too_many = self.only_too_many and answer is TOO_MANY
        following = call.alternative + 1
        if following < len(search.requests[call.claim][call.request].alternatives):
            self.call = call._replace(alternative=following)
            return self.call
        return TOO_MANY if self.only_too_many else NO


class Everything(Frame):
    """A request for all devices: there is one way only."""

    __slots__ = ("taken",)

    def __init__(self, call: Call, taken: Taken) -> None:
        super().__init__(call)
        self.taken = taken

    def resume(self, search: Search, answer: SearchAnswer) -> Call | SearchAnswer:
        """Give the device back."""
        search.attempt.release(self.taken)
        return answer


class Pick(Frame):
    """A request for which one device after the other is tried."""

    __slots__ = ("request", "taken")

    def __init__(self, call: Call, request: PreparedRequest, taken: Taken) -> None:
        super().__init__(call)
        self.request = request
        self.taken = taken

    def resume(self, search: Search, answer: SearchAnswer) -> Call | SearchAnswer:
        """Give the device back and try the next one."""
        search.attempt.release(self.taken)
        if answer is TOO_MANY:
            return answer
        taken = search.attempt.pick(self.request, self.call.claim, self.taken.position + 1)
        if taken is None:
            return NO
        self.taken = taken
        return search.below(self.call, taken)


class Search:
    """One search on one node.

    Attributes:
        steps: Calls of the recursive function so far.
        attempt: The devices picked so far.
        requests: The requests by claim.
        chosen: After a success, the index of the subrequest by claim and request.
    """

    def __init__(
        self,
        prepared: Prepared,
        view: NodeView,
        everything: dict[PreparedRequest, list[int]],
        budget: int,
    ) -> None:
        self.requests = prepared.requests
        self.attempt = Attempt(prepared, view)
        self.steps = 0
        self.chosen: dict[tuple[int, int], int] = {}
        self._everything = everything
        self._budget = budget
        self._most_looks = most_looks(budget)
        self._permutations = prepared.profile.stable
        self._apart = prepared.profile.subrequests_apart
        self._stack: list[Frame] = []

    def run(self) -> bool:
        """Search; answer whether there is a solution.

        Raises:
            BudgetExceededError: The budget is used up.
            FatalProblemError: The scheduler would end the pod's attempt.
        """
        stack = self._stack
        next_: Call | SearchAnswer = Call(0)
        while True:
            while isinstance(next_, Call):
                next_ = self._enter(next_)
            if next_ is YES:
                self._note_choices()
                return True
            if not stack:
                return False
            if self.attempt.looks > self._most_looks:
                raise BudgetExceededError
            frame = stack[-1]
            next_ = frame.resume(self, next_)
            if not isinstance(next_, Call):
                stack.pop()

    def below(self, call: Call, taken: Taken) -> Call:
        """Return the call for the next device of a request.

        Devices of one request are combined, not permuted, except in the oldest allocator.
        """
        start = 0 if self._permutations else taken.position + 1
        return Call(call.claim, call.request, call.alternative, call.picked + 1, call.chosen, start)

    def _enter(self, call: Call) -> Call | SearchAnswer:
        """Count a step and run the function up to its first call, which it returns."""
        if self.steps >= self._budget or self.attempt.looks > self._most_looks:
            raise BudgetExceededError
        if not self.steps % STEPS_PER_CHECK:
            check()
        self.steps += 1
        claim = call.claim
        if claim >= len(self.requests):
            return YES
        requests = self.requests[claim]
        if call.request >= len(requests):
            self._stack.append(EndOfClaim(call))
            return Call(claim + 1)
        request = requests[call.request]
        if request.prioritized and not call.chosen:
            frame = Alternatives(call._replace(chosen=True, start=0))
            self._stack.append(frame)
            return frame.call
        return self._serve(call, request.alternatives[call.alternative])

    def _serve(self, call: Call, request: PreparedRequest) -> Call | SearchAnswer:
        everything = self._everything.get(request)
        if everything is not None and not everything:
            return NO
        count = request.exact.count if everything is None else len(everything)
        if call.picked >= count:
            return Call(call.claim, call.request + 1)
        attempt = self.attempt
        if count - call.picked > LIMIT - len(attempt.results[call.claim]):
            return TOO_MANY
        if everything is not None:
            taken = attempt.take_exactly(request, call.claim, everything[call.picked])
            if taken is None:
                return NO
            self._stack.append(Everything(call, taken))
            # Up to 1.35 the scheduler forgets which subrequest this is, and goes on with the first.
            alternative = call.alternative if self._apart else 0
            return call._replace(alternative=alternative, picked=call.picked + 1, start=0)
        taken = attempt.pick(request, call.claim, call.start)
        if taken is None:
            return NO
        self._stack.append(Pick(call, request, taken))
        return self.below(call, taken)

    def _note_choices(self) -> None:
        for frame in self._stack:
            if isinstance(frame, Alternatives):
                call = frame.call
                self.chosen[call.claim, call.request] = call.alternative
