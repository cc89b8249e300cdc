"""Which pods would have to end, or move, so that a pod gets its devices: plans, never actions.

`planner.plan` is kube-scheduler's default preemption with claims counted, `defrag.plan` finds the
fewest moves that make room. Both are pure, and both spend one bounded budget of search.
"""
