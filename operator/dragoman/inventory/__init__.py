"""Who has what: pools, devices and their holders, computed from plain API objects.

`snapshots` lists which fields are read and keeps them in a file, `facts` parses them once, and
`inventory` computes the state of each device, from `pools`, `holders` and `matching`. `usage` and
`poolstatus` count what commands, metrics and reports show. Nothing here talks to a cluster or reads
a clock.
"""
