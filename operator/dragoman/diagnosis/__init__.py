"""Why a pod has no devices, and what if: answers computed from an inventory and the allocator.

`subject` finds out what a pod requests, `filters` which nodes the scheduler leaves out before it
looks at devices, `explain` what every other node lacks, `suggestions` what would change that,
`simulate` places pods one after the other. Nothing here talks to a cluster or reads a clock.
"""
