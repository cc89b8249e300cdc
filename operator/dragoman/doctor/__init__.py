"""What is wrong in a cluster now: findings over an inventory, each with a remedy.

`finding` says which findings there are, `doctorfacts` what they are computed from, and
`examination` runs the rules of the other modules. Nothing here talks to a cluster or reads a clock.
"""
