"""Who has what: pools, devices and their holders, computed from plain API objects.

`documents` lists which fields are read, `snapshot` keeps them in a file, `factparser` parses them
once, and `ledger`, `pools` and `inventory` compute what commands, metrics and reports show. Nothing
here talks to a cluster or reads a clock.
"""
