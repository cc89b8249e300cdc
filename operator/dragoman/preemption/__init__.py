"""Which pods would have to end so that a pod gets its devices: plans and their protocol.

`planner.plan` is kube-scheduler's default preemption with claims counted, within a bounded budget
of search. `protocol.step` says what a preemption does next. Both are pure: controllers act.
"""
