"""Which pods would have to end, or move, so that a pod gets its devices: plans and their protocol.

`planner.plan` is kube-scheduler's default preemption with claims counted, `defrag.plan` finds the
fewest moves that make room; both spend one bounded budget of search. `protocol.step` says what a
preemption does next. All are pure: controllers act.
"""
