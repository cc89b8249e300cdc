"""Who has what: pools, devices and their holders, computed from plain API objects.

`documents` says which fields are read, `snapshot` keeps them in a file, `facts` parses them once,
and `ledger`, `pools` and `inventory` compute what commands, metrics and reports show. Nothing here
talks to a cluster or reads a clock.
"""
